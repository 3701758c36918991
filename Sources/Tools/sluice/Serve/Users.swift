import Glibc
import HomeFolder
import Identity
import LedgerPort
import Platform

/// `sluice users add`: makes an account.
struct UsersAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users add", abstract: "Make an account, with which a person signs in.", arguments: "EMAIL",
    discussion: """
      The password is read from standard input, or asked for at a terminal. It has at least 8 characters, and only a hash
      of it is kept. People sign in where the pipeline file says `accounts` under `serve`.
      """,
    options: [
      CommandOption(name: "name", value: "NAME", help: "What others see; else the address up to its @."),
      CommandOption(name: "id", value: "ID", help: "The user's id as a participant; else it is drawn."),
      CommandOption(
        name: "role", value: "user|admin",
        help: "A participant, or a person who operates this; user is usual.",
        choices: ["user", "admin"]),
      .home, .format,
    ],
    example: "sluice users add ann@example.com --name 'Ann B.'")

  private let arguments: ParsedArguments
  private let email: String

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1 else { throw .usage("`sluice users add` takes one EMAIL") }
    (self.arguments, email) = (arguments, arguments.words[0])
    if let fault = User.fault(ofEmail: email) { throw .usage("EMAIL \(fault)") }
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    var ids = UUIDv7Generator()
    let id = arguments.value("id") ?? ids.next()
    let action = UserCommand.Action.add(
      name: arguments.value("name") ?? User.name(fromEmail: email), email: email,
      password: try UserDesk.newPassword(),
      role: arguments.value("role").flatMap(AccessToken.Role.init(rawValue:)) ?? .user, session: nil)
    guard try UserDesk.apply(UserCommand(id, action), home) != nil else { return .usage }
    guard let user = try Environment.ledger(reading: home).account(id)?.user else { return .internalError }
    Terminal.out(arguments.isJSON ? UserDesk.json(user) : Terminal.printable(id) + "\n")
    return .success
  }
}

/// `sluice users list`: which there are.
struct UsersList: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users list", abstract: "List the people on record.", options: [.home, .format, .noColor],
    example: "sluice users list")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    var mark: PageMark?
    repeat {
      let page = try ledger.users(after: mark, limit: 500)
      for user in page.rows { Terminal.out(arguments.isJSON ? UserDesk.json(user) : UserDesk.line(user)) }
      mark = page.next
    } while mark != nil
    return .success
  }
}

/// `sluice users show`: a person and its sessions.
struct UsersShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users show", abstract: "Show a person, and where it is signed in.", arguments: "ID|EMAIL",
    options: [.home, .format, .noColor], example: "sluice users show ann@example.com")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try UserDesk.expectNames(arguments, 1...1)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    guard let user = try UserDesk.find(arguments.words[0], ledger) else { return .usage }
    let now = Clock.now()
    let sessions = try ledger.sessions(of: user.id).filter { $0.isValid(at: now) }
    if arguments.isJSON {
      Terminal.out(UserDesk.json(user, sessions))
      return .success
    }
    Terminal.out(UserDesk.line(user))
    for session in sessions {
      let device = session.device.map { $0.isEmpty ? "-" : Terminal.printable($0) } ?? "-"
      Terminal.out(
        "  \(session.id)  \(device)  since \(Clock.timestamp(session.createdAt))  until \(session.expiresAt.map(Clock.timestamp) ?? "-")\n"
      )
    }
    return .success
  }
}

/// `sluice users password`: the way back after a forgotten password.
struct UsersPassword: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users password", abstract: "Give a person another password, and end its sessions.",
    arguments: "ID|EMAIL",
    discussion: "The password is read from standard input, or asked for at a terminal.",
    options: [.home, .quiet], example: "sluice users password ann@example.com")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try UserDesk.expectNames(arguments, 1...1)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    guard let user = try UserDesk.find(arguments.words[0], Environment.ledger(reading: home)) else {
      return .usage
    }
    if user.email == nil {
      Terminal.error("\(Terminal.printable(user.id)) has no account; `sluice users add` makes one")
      return .usage
    }
    var change = UserChange()
    change.password = try UserDesk.newPassword()
    return try UserDesk.change([user.id], change, "has another password", arguments)
  }
}

/// `sluice users disable`: lets people in no more.
struct UsersDisable: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users disable", abstract: "Let people in no more: by no session, no token, and no signed token.",
    arguments: "ID|EMAIL…", discussion: "Their messages stay. `sluice users enable` lets them in again.",
    options: [.home, .quiet], example: "sluice users disable ann@example.com")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try UserDesk.expectNames(arguments, 1...Int.max)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    var change = UserChange()
    // A user of the product's has no record before.
    (change.isDisabled, change.adds) = (true, true)
    return try UserDesk.change(arguments.words, change, "disabled", arguments)
  }
}

/// `sluice users enable`: lets them in again.
struct UsersEnable: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users enable", abstract: "Let people in again that were disabled.", arguments: "ID|EMAIL…",
    options: [.home, .quiet], example: "sluice users enable ann@example.com")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try UserDesk.expectNames(arguments, 1...Int.max)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    var change = UserChange()
    change.isDisabled = false
    return try UserDesk.change(arguments.words, change, "enabled", arguments)
  }
}

/// `sluice users erase`: takes people away, with all that they have written and sent.
struct UsersErase: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "users erase", abstract: "Erase people, with all that they have written and sent.",
    arguments: "ID|EMAIL…",
    discussion: """
      Their sessions and tokens end at once, and they leave all conversations. Texts and attachments of their messages, \
      earlier texts and names are erased for everybody. The numbers, the times and the ids of their messages stay, and \
      what others have written. Nothing brings it back. If it is cut off, the same command goes on.
      """,
    options: [.home, .quiet], example: "sluice users erase ann@example.com")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try UserDesk.expectNames(arguments, 1...Int.max)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    var code = ExitCode.success
    for name in arguments.words {
      guard let id = try UserDesk.id(name, home, mayBeUnknown: true) else {
        code = .usage
        continue
      }
      guard try UserDesk.hasTraces(id, home.reader()) else {
        Terminal.error("there is no trace of a user '\(Terminal.printable(id))'")
        code = .usage
        continue
      }
      let desk = try CommandDesk(home)
      var isErased: Bool?
      repeat {
        isErased = try UserDesk.apply(UserCommand(id, .erase(byService: false)), desk)
      } while isErased == true
      if isErased == nil { code = .usage }
      if isErased == nil || arguments.flag("quiet") { continue }
      Terminal.out("\(Terminal.printable(id))  erased\n")
    }
    return code
  }
}

/// Common parts of the commands about users.
private enum UserDesk {
  static func expectNames(_ arguments: ParsedArguments, _ count: ClosedRange<Int>) throws(CommandError) {
    if count.contains(arguments.words.count) { return }
    throw .usage("say which, by ID or EMAIL; `sluice users list` prints them")
  }

  /// Reads a password, and hashes it.
  static func newPassword() throws -> String {
    let isTerminal = isatty(0) == 1
    if isTerminal { Terminal.error("password: ", prefix: "") }
    var saved = termios()
    let isQuiet = isTerminal && tcgetattr(0, &saved) == 0
    if isQuiet {
      var silent = saved
      silent.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(0, TCSAFLUSH, &silent)
    }
    defer { if isQuiet { tcsetattr(0, TCSAFLUSH, &saved) } }
    guard let password = readLine(), !password.isEmpty else {
      throw CommandError.usage("there is no password on standard input; send it there, as one line")
    }
    // `readLine` replaces bytes that are not UTF-8 by this character.
    if password.contains("\u{FFFD}") { throw CommandError.usage("the password is no text in UTF-8") }
    if let fault = PasswordHash.fault(of: password) { throw CommandError.usage("the password \(fault)") }
    return try PasswordHash.make(password)
  }

  /// Whether there was anything to change; `nil`: it was refused, as was said.
  static func apply(_ command: UserCommand, _ home: Home) throws -> Bool? {
    try apply(command, CommandDesk(home))
  }

  /// The same. An erasure has changed something as long as it is not whole.
  static func apply(_ command: UserCommand, _ desk: CommandDesk) throws -> Bool? {
    switch try desk.apply([.user(command)]).first {
    case .user(.user(_, let hasChanged)), .done(let hasChanged): return hasChanged
    case .user(.erased(let isWhole)): return !isWhole
    case .user(.refused(let refusal)): Terminal.error(refusal.sentence)
    case .refused(let reason): Terminal.error(Terminal.printable(reason))
    case .takenIn, .conversation, nil: Terminal.error("the coordinator does not know this command")
    }
    return nil
  }

  static func change(
    _ names: [String], _ change: UserChange, _ word: String, _ arguments: ParsedArguments
  ) throws -> ExitCode {
    let home = Environment.home(arguments)
    var code = ExitCode.success
    for name in names {
      guard let id = try id(name, home, mayBeUnknown: change.adds) else {
        code = .usage
        continue
      }
      guard let hasChanged = try apply(UserCommand(id, .change(change)), home) else {
        code = .usage
        continue
      }
      if arguments.flag("quiet") { continue }
      Terminal.out("\(Terminal.printable(id))  \(word)\(hasChanged ? "" : " before")\n")
    }
    return code
  }

  /// The id of a user; `nil`: there is none, as was said.
  static func id(_ name: String, _ home: Home, mayBeUnknown: Bool) throws -> String? {
    if let known = try Environment.lacksLedger(home) ? nil : account(name, home.reader()) { return known.id }
    // An address is nobody's id: it is misspelt.
    if mayBeUnknown && !name.contains("@") { return name }
    Terminal.error("there is no user '\(Terminal.printable(name))'; `sluice users list` prints them")
    return nil
  }

  /// Whether a user has a record, a token, a conversation or an attachment.
  static func hasTraces(_ id: String, _ ledger: any LedgerQueries) throws -> Bool {
    if try ledger.account(id) != nil { return true }
    if try ledger.tokens().contains(where: { $0.role == .user && ByteText($0.name) == ByteText(id) }) {
      return true
    }
    if try !ledger.conversations(of: id, after: nil, limit: 1).rows.isEmpty { return true }
    var filter = AttachmentFilter()
    filter.senderId = id
    var mark: PageMark?
    repeat {
      let page = try ledger.matches(filter, after: mark, limit: 1)
      if !page.rows.isEmpty { return true }
      mark = page.next
    } while mark != nil
    return false
  }

  private static func account(_ name: String, _ ledger: any LedgerQueries) throws -> User? {
    try (ledger.account(name) ?? ledger.account(ofEmail: User.emailKey(name)))?.user
  }

  static func find(_ name: String, _ ledger: any LedgerQueries) throws -> User? {
    if let user = try account(name, ledger) { return user }
    Terminal.error("there is no user '\(Terminal.printable(name))'; `sluice users list` prints them")
    return nil
  }

  static func line(_ user: User) -> String {
    [
      Terminal.printable(user.id), user.role.rawValue, Terminal.printable(user.email ?? "-"),
      Terminal.printable(user.name), "since \(Clock.timestamp(user.createdAt))",
      user.erasedAt.map { "erased \(Clock.timestamp($0))" }
        ?? user.disabledAt.map { "disabled \(Clock.timestamp($0))" } ?? "",
    ].filter { !$0.isEmpty }.joined(separator: "  ") + "\n"
  }

  static func json(_ user: User, _ sessions: [AccessToken]? = nil) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "user")
      user.write(to: &writer, isForUser: false)
      guard let sessions else { return }
      writer.key("sessions")
      writer.array { writer in
        for session in sessions {
          writer.object { session.writeSession(to: &$0) }
        }
      }
    }
    return writer.text + "\n"
  }
}
