import LedgerPort
import Platform

// Attachments of messages.
extension LedgerRows {
  /// Why a conversation refuses an attachment; `nil`: it does not.
  func problem(of item: IntakeItem, in conversation: Conversation) throws(Failure) -> IntakeProblem? {
    guard let member = try member(item.senderId, of: conversation.key), member.isPresent else {
      return item.noMember
    }
    guard let id = item.messageId, let message = try written(id, item, in: conversation),
      message.deletedAt != nil
    else { return nil }
    return IntakeProblem(
      item.origin, "message '\(id)' was deleted; give it another messageId", kind: IntakeProblem.goneMessage)
  }

  /// The message of an attachment: by the sender's client id, or by its id. Another's id never hides an own message.
  func written(_ id: String, _ item: IntakeItem, in conversation: Conversation) throws(Failure) -> Message? {
    if let message = try message(ofClient: id, from: item.senderId),
      Self.isSame(message.conversationId, conversation.id)
    {
      return message
    }
    return try message(withId: id, in: conversation.id)
  }

  /// Gives a message that came with an attachment its number.
  mutating func number(
    messageWithId id: String, _ clientId: String?, of item: IntakeItem, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard hasConversations, var conversation = try conversation(item.conversationId) else { return }
    var message = Message(
      in: conversation.id, id: id, number: 0, from: item.senderId, clientId: clientId, text: item.text,
      createdAt: tally.now)
    try number(&message, in: &conversation, &tally)
    try setMessage(message)
  }

  /// Marks the messages of changed attachments as changed. The last step of an exchange.
  package mutating func noteMessages(_ tally: inout ExchangeTally) throws(Failure) {
    if !hasConversations { return }
    var seen: Set<[ByteText]> = []
    for key in tally.changed.attachments {
      guard let row = try attachment(key),
        seen.insert([ByteText(row.conversationId), ByteText(row.messageId)]).inserted
      else { continue }
      try noteMessage(row.messageId, in: row.conversationId, &tally)
    }
  }

  /// Marks a message as changed.
  mutating func noteMessage(_ id: String, in conversationId: String, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    guard hasConversations, let message = try message(withId: id, in: conversationId) else { return }
    // A message of this exchange may have another attachment now.
    if message.changed == tally.number { return try makeFindable(message) }
    guard let conversation = try conversation(conversationId) else { return }
    try set(message, in: conversation, &tally)
  }
}
