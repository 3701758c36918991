import Glibc
import Identity
import LedgerPort
import Pipeline
import Platform

/// `sluice tokens add`: lets a client in.
struct TokensAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "tokens add", abstract: "Make a token, which lets a client in over HTTP, and print it.",
    arguments: "NAME",
    discussion: """
      The NAME of a user's token is the user's id as a participant. Only a hash of the token is kept: it is printed this
      once. Where it gets lost, make another and revoke the first.
      """,
    options: [
      CommandOption(
        name: "role", value: "user|service|admin",
        help: "A participant, a product's own backend, or a person who operates this; user is usual.",
        choices: AccessToken.Role.allCases.map(\.rawValue)),
      CommandOption(name: "expires", value: "TIME", help: "After how long it is worth nothing: 30d."),
      .home, .format,
    ],
    example: "sluice tokens add ann --expires 30d")

  private let arguments: ParsedArguments
  private let name: String
  private let lifetime: Interval?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1, let name = arguments.words.first, !name.isEmpty else {
      throw .usage("`sluice tokens add` takes one NAME: a participant's id, or that of a service or a person")
    }
    guard name.utf8.count <= 256, !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw .usage("a NAME has at most 256 bytes, none of which ends a line or acts on a terminal")
    }
    (self.arguments, self.name) = (arguments, name)
    guard let text = arguments.value("expires") else {
      lifetime = nil
      return
    }
    guard let interval = Interval(text), interval.milliseconds > 0 else {
      throw .usage("--expires is a time from now, such as 12h or 30d, not '\(Terminal.printable(text))'")
    }
    lifetime = interval
  }

  func run() throws -> ExitCode {
    let token = try NewToken()
    let role = arguments.value("role").flatMap(AccessToken.Role.init(rawValue:)) ?? .user
    let expiresAt = lifetime.map { Clock.now() + $0.milliseconds }
    let command = TokenCommand.add(hash: try token.hash(), name: name, role: role, expiresAt: expiresAt)
    guard case .done? = try CommandDesk(Environment.home(arguments)).apply([.token(command)]).first else {
      return .internalError
    }
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "token")
        writer.member("id", command.id)
        writer.member("name", name)
        writer.member("role", role.rawValue)
        writer.member("expiresAt", expiresAt.map(Clock.timestamp))
        writer.member("token", token.text)
      }
      Terminal.out(writer.text + "\n")
    } else {
      Terminal.out(token.text + "\n")
    }
    return .success
  }
}

/// `sluice tokens list`: which there are.
struct TokensList: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "tokens list", abstract: "List the tokens that were made.",
    options: [.home, .format, .noColor], example: "sluice tokens list")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let tokens = try Environment.ledger(reading: Environment.home(arguments)).tokens()
    let now = Clock.now()
    let style = Style(arguments)
    for token in tokens {
      Terminal.out(arguments.isJSON ? Self.json(token, now) : Self.line(token, now, style))
    }
    return .success
  }

  private static func state(_ token: AccessToken, _ now: Int64) -> String {
    token.revokedAt != nil ? "revoked" : token.isValid(at: now) ? "valid" : "expired"
  }

  private static func line(_ token: AccessToken, _ now: Int64, _ style: Style) -> String {
    var parts = [
      token.id, style.word(state(token, now), width: 7), token.role.rawValue, Terminal.printable(token.name),
      "made \(Clock.timestamp(token.createdAt))",
    ]
    if let time = token.expiresAt { parts.append("expires \(Clock.timestamp(time))") }
    if let time = token.revokedAt { parts.append("revoked \(Clock.timestamp(time))") }
    return parts.joined(separator: "  ") + "\n"
  }

  private static func json(_ token: AccessToken, _ now: Int64) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "token")
      writer.member("id", token.id)
      writer.member("name", token.name)
      writer.member("role", token.role.rawValue)
      writer.member("state", state(token, now))
      writer.member("createdAt", Clock.timestamp(token.createdAt))
      writer.member("expiresAt", token.expiresAt.map(Clock.timestamp))
      writer.member("revokedAt", token.revokedAt.map(Clock.timestamp))
    }
    return writer.text + "\n"
  }
}

/// `sluice tokens revoke`: takes tokens back.
struct TokensRevoke: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "tokens revoke", abstract: "Take tokens back, for good and at once.", arguments: "ID…",
    discussion: "`sluice tokens list` prints the ids. Requests, streams and uploads under way with them end.",
    options: [.home, .format, .quiet], example: "sluice tokens revoke 3f9a0c71be52")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    if arguments.words.isEmpty { throw .usage("say which, by ID; `sluice tokens list` prints them") }
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let results = try CommandDesk(Environment.home(arguments)).apply(
      arguments.words.map { .token(.revoke($0)) })
    var code = ExitCode.success
    for (id, result) in zip(arguments.words, results) {
      switch result {
      case .refused(let reason):
        Terminal.error("\(Terminal.printable(reason)); `sluice tokens list` prints those there are")
        code = .usage
      case .done(let hasChanged):
        if arguments.flag("quiet") { continue }
        Terminal.out("\(Terminal.printable(id))  \(hasChanged ? "revoked" : "was revoked before")\n")
      case .takenIn, .conversation, .user: break
      }
    }
    return code
  }
}
