import LedgerPort
import Wire

// Conversations that a command begins, and messages that it writes.
extension ControlMessage {
  private enum Action: UInt8 {
    case begin = 1, write
  }

  /// The longest text of a command, in bytes.
  private static let longest = Message.longestText + 4096

  static func write(_ command: ConversationCommand, _ writer: inout FrameWriter) {
    guard case .service(let name, let person) = command.author else { return writer.write(UInt8(0)) }
    switch command.action {
    case .begin(let kind, let title, let history, let members):
      writer.write(Action.begin.rawValue)
      for text in [command.conversationId, name, person, kind.rawValue, title, history.rawValue] {
        writer.write(text)
      }
      writer.write(members) { $0.write($1) }
    // Links are named by clients of the HTTP server alone.
    case .write(let id, let clientId, let text, let replyTo, let isUrgent, let expiresAt, let named):
      writer.write(Action.write.rawValue)
      for text in [command.conversationId, name, person, id, clientId, text] { writer.write(text) }
      writer.write(replyTo ?? 0)
      writer.write(isUrgent)
      writer.write(expiresAt ?? 0)
      writer.write(named.ids) { $0.write($1) }
      writer.write(named.uploads) { $0.write($1) }
    case .rename, .expire, .add, .remove, .edit, .delete, .reach, .mute: writer.write(UInt8(0))
    }
  }

  static func conversationCommand(_ reader: inout FrameReader) throws(FrameError) -> ConversationCommand {
    let action = Action(rawValue: try reader.integer(UInt8.self))
    let id = try reader.requiredText(atMost: longest)
    let name = try reader.requiredText(atMost: longest)
    let author = ConversationCommand.Author.service(name, for: try reader.text(atMost: longest))
    switch action {
    case .begin:
      let kind = try reader.requiredText(atMost: longest)
      let title = try reader.text(atMost: longest)
      let history = try reader.requiredText(atMost: longest)
      let members = try reader.elements(atMost: Conversation.mostMembers) { (reader) throws(FrameError) in
        try reader.requiredText(atMost: longest)
      }
      guard let kind = Conversation.Kind(rawValue: kind),
        let history = Conversation.History(rawValue: history)
      else { throw FrameError("a conversation that is none") }
      return ConversationCommand(id, author, .begin(kind, name: title, history, members: members))
    case .write:
      let message = try reader.requiredText(atMost: longest)
      let client = try reader.requiredText(atMost: longest)
      let text = try reader.text(atMost: longest)
      let replyTo = try reader.integer(Int64.self)
      let isUrgent = try reader.boolean()
      let expiresAt = try reader.integer(Int64.self)
      func names() throws(FrameError) -> [String] {
        try reader.elements(atMost: NamedAttachments.most) { (reader) throws(FrameError) in
          try reader.requiredText(atMost: longest)
        }
      }
      let named = NamedAttachments(ids: try names(), uploads: try names())
      return ConversationCommand(
        id, author,
        .write(
          id: message, clientId: client, text: text, replyTo: replyTo == 0 ? nil : replyTo,
          isUrgent: isUrgent, expiresAt: expiresAt == 0 ? nil : expiresAt, named))
    case nil: throw FrameError("an unknown command about a conversation")
    }
  }
}

extension ConversationResult {
  /// The result for the client of the socket.
  var outcome: CommandResult {
    switch self {
    case .begun(_, let isNew), .written(_, let isNew): .done(hasChanged: isNew)
    case .done(let hasChanged): .done(hasChanged: hasChanged)
    case .refused(let refusal): .refused(refusal.sentence)
    }
  }
}
