import LedgerPort
import Platform

/// `sluice messages`: the messages of a conversation.
struct Messages: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "messages", abstract: "Print the last messages of a conversation, the newest last.",
    arguments: "CONVERSATION",
    options: [
      MessageDesk.reader,
      CommandOption(name: "limit", value: "N", help: "At most so many; 50 is usual."),
      CommandOption(name: "before", value: "NUMBER", help: "Those with lower numbers."),
      .home, .format, .noColor,
    ],
    example: "sluice messages order-7 --as ann")

  private let arguments: ParsedArguments
  private let limit: Int
  private let before: Int64?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1 else {
      throw .usage("say which, by CONVERSATION; `sluice conversations list` prints them")
    }
    self.arguments = arguments
    limit = Int(try arguments.integer("limit") ?? 50)
    before = try arguments.integer("before")
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let user = arguments.value("as")
    guard let view = try ledger.membership(of: arguments.words[0], for: user) else {
      Terminal.error(
        "there is no conversation '\(Terminal.printable(arguments.words[0]))'"
          + "\(user.map { " of '\(Terminal.printable($0))'" } ?? ""); `sluice conversations list` prints them"
      )
      return .usage
    }
    let own = view.member(user)
    let messages = try ledger.messages(in: view.conversation, seenBy: own, before: before, limit: limit)
    let attachments = try ledger.attachments(
      ofMessages: messages.map(\.id), in: view.conversation.id, seenBy: own)
    let style = Style(arguments)
    for message in messages.reversed() {
      let all = attachments[message.id] ?? []
      guard arguments.isJSON else {
        Terminal.out(MessageDesk.line(message, attachments: all.count, style))
        continue
      }
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "message")
        message.write(
          to: &writer, members: own?.left == nil ? view.members : nil, attachments: all,
          isForUser: user != nil)
      }
      Terminal.out(writer.text + "\n")
    }
    return .success
  }
}

/// `sluice send`: writes a message.
struct Send: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "send", abstract: "Write a message in the place of a member, and print its number.",
    arguments: "CONVERSATION [TEXT]",
    discussion: """
      Without TEXT, the text is read from standard input. With --id, a message is written once, however often the \
      command is repeated.
      """,
    options: [
      CommandOption(name: "sender", value: "USER", help: "The member that writes it."),
      CommandOption(name: "id", value: "ID", help: "The client's id for it; else one is drawn."),
      CommandOption(name: "reply-to", value: "NUMBER", help: "The message that it answers."),
      CommandOption(name: "urgent", help: "It breaks a mute, for members who want that."), .home, .format,
    ],
    example: "sluice send order-7 'Your order is on its way' --sender shop")

  private let arguments: ParsedArguments
  private let sender: String
  private let replyTo: Int64?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard (1...2).contains(arguments.words.count) else {
      throw .usage("`sluice send` takes a CONVERSATION and a TEXT; put a TEXT with spaces in quotes")
    }
    guard let sender = arguments.value("sender") else { throw .usage("say who writes it, by --sender USER") }
    (self.arguments, self.sender) = (arguments, sender)
    replyTo = try arguments.integer("reply-to")
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    var text = arguments.words.count == 2 ? arguments.words[1] : Self.input()
    if text.hasSuffix("\n") && arguments.words.count == 1 { text.removeLast() }
    var ids = UUIDv7Generator()
    let (id, client) = (ids.next(), arguments.value("id") ?? ids.next())
    let conversation = arguments.words[0]
    let command = ConversationCommand(
      conversation, .service(MessageDesk.service, for: sender),
      .write(
        id: id, clientId: client, text: text.isEmpty ? nil : text, replyTo: replyTo,
        isUrgent: arguments.flag("urgent")))
    guard try MessageDesk.apply(command, home) != nil else { return .usage }
    let ledger = try home.reader()
    guard let message = try ledger.message(writtenAs: client, by: sender) else { return .internalError }
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "message")
        message.write(to: &writer, isForUser: false)
      }
      Terminal.out(writer.text + "\n")
    } else {
      Terminal.out("\(message.number)\n")
    }
    return .success
  }

  private static func input() -> String {
    var text = ""
    while let line = readLine(strippingNewline: false) { text += line }
    return text
  }
}
