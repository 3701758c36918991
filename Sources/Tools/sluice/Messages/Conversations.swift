import HomeFolder
import LedgerPort
import Platform

/// `sluice conversations list`: which there are.
struct Conversations: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "conversations list", abstract: "List conversations, in the order in which they were begun.",
    discussion: "With --as, those of a user, with its unread messages; what it may not see is left out.",
    options: [MessageDesk.reader, .home, .format, .noColor], example: "sluice conversations list --as ann")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let user = arguments.value("as")
    var mark: PageMark?
    repeat {
      let page = try ledger.conversations(of: user, after: mark, limit: 100)
      for view in page.rows { Terminal.out(arguments.isJSON ? Self.json(view, user) : Self.line(view, user)) }
      mark = page.next
    } while mark != nil
    return .success
  }

  private static func line(_ view: ConversationView, _ user: String?) -> String {
    let own = view.member(user)
    let isPast = own.map { !$0.isPresent } ?? false
    let members = view.members.filter(\.isPresent).map { Terminal.printable($0.user) }
    return [
      Terminal.printable(view.conversation.id), view.conversation.kind.rawValue,
      view.conversation.name.map { "'\(Terminal.printable($0))'" } ?? "",
      "\(min(view.conversation.lastNumber, own?.leftNumber ?? .max)) messages",
      own == nil ? "" : isPast ? "left" : "\(view.unread) unread",
      isPast ? "" : members.prefix(8).joined(separator: ", ") + (members.count > 8 ? ", …" : ""),
    ].filter { !$0.isEmpty }.joined(separator: "  ") + "\n"
  }

  private static func json(_ view: ConversationView, _ user: String?) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "conversation")
      view.write(to: &writer, for: user)
    }
    return writer.text + "\n"
  }
}

/// `sluice conversations begin`: begins one.
struct ConversationsBegin: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "conversations begin", abstract: "Begin a conversation, and print its id.", arguments: "USER…",
    discussion: """
      The first USER of a group is its admin. Two people have one direct conversation: if it is there, or a conversation \
      with the same --id, its id is printed, and nothing changes.
      """,
    options: [
      CommandOption(name: "direct", help: "Of two people; else a group."),
      CommandOption(name: "name", value: "NAME", help: "What the group is called."),
      CommandOption(name: "id", value: "ID", help: "Its id; else one is drawn."),
      CommandOption(
        name: "history", value: "joined|all",
        help: "What new members see of earlier messages; joined, none, is usual.",
        choices: Conversation.History.allCases.map(\.rawValue)),
      .home, .format,
    ],
    example: "sluice conversations begin ann ben --direct")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    if arguments.words.isEmpty { throw .usage("say who takes part, by USER…") }
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    var ids = UUIDv7Generator()
    var id = arguments.value("id") ?? ids.next()
    let isDirect = arguments.flag("direct")
    let history = arguments.value("history").flatMap(Conversation.History.init(rawValue:)) ?? .joined
    let action = ConversationCommand.Action.begin(
      isDirect ? .direct : .group, name: arguments.value("name"), history, members: arguments.words)
    guard
      let isNew = try MessageDesk.apply(
        ConversationCommand(id, .service(MessageDesk.service), action), home)
    else { return .usage }
    // That of the pair has another id.
    if !isNew && isDirect {
      id = try MessageDesk.direct(arguments.words, home.reader()) ?? id
    }
    guard let view = try home.reader().membership(of: id, for: nil) else { return .internalError }
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "conversation")
        view.write(to: &writer, for: nil)
      }
      Terminal.out(writer.text + "\n")
    } else {
      Terminal.out(Terminal.printable(id) + "\n")
    }
    return .success
  }
}

/// Common parts of the commands about conversations.
enum MessageDesk {
  /// As whom the command line acts.
  static let service = "sluice"

  static let reader = CommandOption(
    name: "as", value: "USER", help: "What this user sees; else all.")

  /// Whether it has changed something; `nil`: it was refused, as was said.
  static func apply(_ command: ConversationCommand, _ home: Home) throws -> Bool? {
    switch try CommandDesk(home).apply([.conversation(command)]).first {
    case .done(let hasChanged), .conversation(.done(let hasChanged)): return hasChanged
    case .conversation(.begun(_, let isNew)), .conversation(.written(_, let isNew)): return isNew
    case .conversation(.refused(let refusal)): Terminal.error(Terminal.printable(refusal.sentence))
    case .refused(let reason): Terminal.error(Terminal.printable(reason))
    case .takenIn, .user, nil: Terminal.error("the coordinator does not know this command")
    }
    return nil
  }

  /// The direct conversation of two people.
  static func direct(_ users: [String], _ ledger: any LedgerQueries) throws -> String? {
    var mark: PageMark?
    repeat {
      let page = try ledger.conversations(of: users[0], after: mark, limit: 100)
      let found = page.rows.first { $0.conversation.kind == .direct && $0.member(users.last) != nil }
      if let found { return found.conversation.id }
      mark = page.next
    } while mark != nil
    return nil
  }

  /// A message as a line.
  static func line(_ message: Message, attachments: Int, _ style: Style) -> String {
    let text =
      message.deletedAt != nil ? style.faint("deleted") : Terminal.printable(message.text ?? "")
    return [
      "\(message.number)", Clock.timestamp(message.createdAt), Terminal.printable(message.senderId) + ":",
      text,
      attachments > 0 ? style.faint("[\(attachments) attachment\(attachments == 1 ? "" : "s")]") : "",
      message.editedAt != nil && message.deletedAt == nil ? style.faint("edited") : "",
    ].filter { !$0.isEmpty }.joined(separator: "  ") + "\n"
  }
}
