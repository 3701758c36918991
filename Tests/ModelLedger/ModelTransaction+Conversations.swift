import LedgerPort
import LedgerRules
import Platform

// Conversations, their members and messages.
extension ModelTransaction {
  func conversation(_ id: String) -> Conversation? {
    rows.conversations.values.first { ByteText($0.row.id) == ByteText(id) }?.row
  }

  func direct(of pair: String) -> Conversation? {
    rows.conversations.values.first { $0.pair.map(ByteText.init) == ByteText(pair) }?.row
  }

  mutating func addConversation(_ conversation: Conversation, pair: String?) -> Int64 {
    var row = conversation
    row.key = ModelRows.next(rows.conversations.keys)
    rows.conversations[row.key] = .init(row: row, pair: pair)
    return row.key
  }

  mutating func setConversation(_ conversation: Conversation) {
    rows.conversations[conversation.key]?.row = conversation
  }

  func member(_ user: String, of conversation: Int64) -> Member? {
    rows.conversations[conversation]?.members[ByteText(user)].map(rows.named)
  }

  func members(of conversation: Int64) -> [Member] { rows.members(of: conversation) }

  mutating func setMember(_ member: Member, of conversation: Int64) {
    rows.conversations[conversation]?.members[ByteText(member.user)] = member
  }

  func message(_ number: Int64, in conversationId: String) -> Message? {
    rows.written(in: conversationId).first { $0.number == number }
  }

  func message(withId id: String, in conversationId: String) -> Message? {
    rows.messages[.init(conversation: conversationId, message: id)]?.written
  }

  func message(ofClient id: String, from sender: String) -> Message? {
    rows.messages.values.lazy.compactMap(\.written).first {
      $0.clientId.map(ByteText.init) == ByteText(id) && ByteText($0.senderId) == ByteText(sender)
    }
  }

  mutating func writeMessage(_ message: Message) {
    rows.messages[.init(conversation: message.conversationId, message: message.id)] = .init(
      sender: message.senderId, participants: [], written: message)
  }

  mutating func setMessage(_ message: Message) {
    rows.messages[.init(conversation: message.conversationId, message: message.id)]?.written = message
  }

  mutating func makeFindable(_ message: Message) { rows.makeFindable(message) }

  mutating func addVersion(of message: Message, _ text: String, at now: Int64) {
    rows.messages[.init(conversation: message.conversationId, message: message.id)]?.versions.append(
      (text, now))
  }

  mutating func removeVersions(of message: Message) {
    rows.messages[.init(conversation: message.conversationId, message: message.id)]?.versions = []
  }

  func attachmentIds(ofMessage id: String, in conversationId: String) -> [String] {
    rows.attachments.sorted { $0.key < $1.key }.map(\.value.origin).filter {
      $0.conversationId == conversationId && $0.messageId == id
    }.map(\.id)
  }
}

extension ModelRows {
  struct ConversationRows {
    var row: Conversation
    var pair: String?
    var members: [ByteText: Member] = [:]
  }

  func members(of conversation: Int64) -> [Member] {
    (conversations[conversation]?.members ?? [:]).sorted { $0.key < $1.key }.map { named($0.value) }
  }

  /// The record of the user has the name.
  func named(_ member: Member) -> Member {
    var member = member
    let name = accounts[ByteText(member.user)]?.user.name
    member.name = name?.isEmpty == true ? nil : name
    return member
  }

  /// The messages of a conversation that have numbers, in order.
  func written(in conversation: String) -> [LedgerPort.Message] {
    messages.filter { $0.key.conversation == conversation }.compactMap(\.value.written).sorted {
      $0.number < $1.number
    }
  }

  /// Who may read an attachment.
  func readers(of attachment: Attachment) -> [String] {
    let origin = attachment.origin
    let name = MessageName(conversation: origin.conversationId, message: origin.messageId)
    guard let message = messages[name]?.written,
      let conversation = conversations.values.first(where: { $0.row.id == origin.conversationId })
    else { return attachment.participants }
    return members(of: conversation.row.key).filter {
      $0.sees(message.number) && attachment.createdAt <= $0.left?.time ?? .max
    }.map(\.user)
  }
}
