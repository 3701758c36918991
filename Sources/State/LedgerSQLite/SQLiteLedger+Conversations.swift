import LedgerPort
import LedgerRules
import SQLite

// Conversations, their members and messages, as the rules read and write them.
extension SQLiteLedger {
  // MARK: Conversations and members

  package func conversation(_ id: String) throws -> Conversation? {
    try statement(ConversationText.conversationById).first(.text(id)) { Conversation($0) }
  }

  package func direct(of pair: String) throws -> Conversation? {
    try statement(ConversationText.conversationByPair).first(.text(pair)) { Conversation($0) }
  }

  package func addConversation(_ conversation: Conversation, pair: String?) throws -> Int64 {
    try statement(
      """
      INSERT INTO conversations (id, kind, name, history, pair, last_number, created_at, described, changed)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      """
    ).run(
      .text(conversation.id), .text(conversation.kind.rawValue), .optional(conversation.name),
      .text(conversation.history.rawValue), .optional(pair), .integer(conversation.lastNumber),
      .integer(conversation.createdAt), .integer(conversation.described), .integer(conversation.changed))
    return connection.lastInsertedRow
  }

  package func setConversation(_ conversation: Conversation) throws {
    try statement(
      """
      UPDATE conversations SET name = ?2, last_number = ?3, described = ?4, changed = ?5, expire_after = ?6 WHERE key = ?1
      """
    ).run(
      .integer(conversation.key), .optional(conversation.name), .integer(conversation.lastNumber),
      .integer(conversation.described), .integer(conversation.changed), .optional(conversation.expireAfter))
  }

  package func member(_ user: String, of conversation: Int64) throws -> Member? {
    try statement(ConversationText.member).first(.integer(conversation), .text(user)) { Member($0) }
  }

  package func members(of conversation: Int64) throws -> [Member] {
    var members: [Member] = []
    try statement(ConversationText.members).rows(.integer(conversation)) { members.append(Member($0)) }
    return members
  }

  package func setMember(_ member: Member, of conversation: Int64) throws {
    try statement(ConversationText.setMember).run(
      .integer(conversation), .text(member.user), .text(member.role.rawValue), .integer(member.firstNumber),
      .integer(member.joinedNumber), .integer(member.joinedChange), .optional(member.left?.number),
      .optional(member.left?.change), .optional(member.left?.time), .integer(member.deliveredNumber),
      .integer(member.readNumber), .optional(member.mutedUntil), .integer(member.urgentBreaksMute ? 1 : 0),
      .integer(member.changed), .integer(member.configured))
  }

  // MARK: Messages

  package func message(_ number: Int64, in conversationId: String) throws -> Message? {
    try statement(ConversationText.messageByNumber).first(.text(conversationId), .integer(number)) {
      Message($0)
    }
  }

  package func message(withId id: String, in conversationId: String) throws -> Message? {
    try statement(ConversationText.messageById).first(.text(conversationId), .text(id)) { Message($0) }
  }

  package func message(ofClient id: String, from sender: String) throws -> Message? {
    try statement(ConversationText.messageByClient).first(.text(sender), .text(id)) { Message($0) }
  }

  package func writeMessage(_ message: Message) throws {
    try statement(ConversationText.writeMessage).run(
      .text(message.conversationId), .text(message.id), .text(message.senderId), .optional(message.text),
      .integer(message.createdAt), .integer(message.number), .integer(message.changed),
      .optional(message.clientId), .optional(message.replyTo), message.isUrgent ? .integer(1) : .null,
      .optional(message.expiresAt))
  }

  package func setMessage(_ message: Message) throws {
    try statement(
      """
      UPDATE messages SET text = ?3, number = ?4, changed = ?5, edited_at = ?6, deleted_at = ?7, client_id = ?8,
        expires_at = ?9
      WHERE conversation_id = ?1 AND message_id = ?2
      """
    ).run(
      .text(message.conversationId), .text(message.id), .optional(message.text), .integer(message.number),
      .integer(message.changed), .optional(message.editedAt), .optional(message.deletedAt),
      .optional(message.clientId), .optional(message.expiresAt))
  }

  public func companions(of user: String) throws(LedgerError) -> [String] {
    try reading {
      var found: [String] = []
      try statement(ConversationText.companions).rows(.text(user)) { found.append($0.text(0)) }
      return found
    }
  }

  public func expiredMessages(at now: Int64, limit: Int) throws(LedgerError) -> [Message] {
    try reading {
      var found: [Message] = []
      try statement(ConversationText.expired).rows(.integer(now), .integer(Int64(limit))) {
        found.append(Message($0))
      }
      return found
    }
  }

  package func addVersion(of message: Message, _ text: String, at now: Int64) throws {
    try statement(
      """
      INSERT INTO versions SELECT ?1, ?2, coalesce(max(version), 0) + 1, ?3, ?4 FROM versions
      WHERE conversation_id = ?1 AND message_id = ?2
      """
    ).run(.text(message.conversationId), .text(message.id), .text(text), .integer(now))
  }

  /// A message as of a time, for a former member.
  func message(_ message: Message, asOf time: Int64) throws -> Message {
    guard let editedAt = message.editedAt, editedAt > time else { return message }
    var message = message
    let (conversation, id) = (Statement.Value.text(message.conversationId), Statement.Value.text(message.id))
    message.editedAt =
      try statement(
        """
        SELECT max(recorded_at) FROM versions WHERE conversation_id = ?1 AND message_id = ?2 AND recorded_at <= ?3
        """
      ).first(conversation, id, .integer(time)) { $0.optionalInteger(0) } ?? nil
    if message.deletedAt != nil { return message }
    message.text = try statement(
      """
      SELECT text FROM versions WHERE conversation_id = ?1 AND message_id = ?2 AND recorded_at > ?3 ORDER BY version LIMIT 1
      """
    ).first(conversation, id, .integer(time)) { $0.text(0) }
    return message
  }

  package func removeVersions(of message: Message) throws {
    try statement("DELETE FROM versions WHERE conversation_id = ?1 AND message_id = ?2").run(
      .text(message.conversationId), .text(message.id))
  }

  package func attachmentIds(ofMessage id: String, in conversationId: String) throws -> [String] {
    var ids: [String] = []
    try statement(
      "SELECT id FROM attachments WHERE conversation_id = ?1 AND message_id = ?2 ORDER BY key"
    ).rows(.text(conversationId), .text(id)) { ids.append($0.text(0)) }
    return ids
  }

  enum ConversationText {
    static let conversations = "SELECT \(Conversation.columns) FROM conversations c"
    static let conversationById = SQLText(conversations + " WHERE c.id = ?1")
    static let conversationByPair = SQLText(conversations + " WHERE c.pair = ?1")
    static let selectMembers = "SELECT \(Member.columns) FROM members x WHERE x.conversation = ?1"
    static let member = SQLText(selectMembers + " AND x.user = ?2")
    static let members = SQLText(selectMembers + " ORDER BY x.user")
    static let setMember = SQLText(
      """
      INSERT INTO members (conversation, \(Member.names.joined(separator: ", ")))
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
      ON CONFLICT DO UPDATE SET role = ?3, first_number = ?4, joined_number = ?5, joined_change = ?6, left_number = ?7,
        left_change = ?8, left_at = ?9, delivered_number = ?10, read_number = ?11, muted_until = ?12, urgent_breaks_mute = ?13,
        changed = ?14, configured = ?15
      """)
    static let messages = "SELECT \(Message.columns) FROM messages m WHERE m.conversation_id = ?1"
    static let messageByNumber = SQLText(messages + " AND m.number = ?2")
    static let messageById = SQLText(messages + " AND m.message_id = ?2 AND m.number IS NOT NULL")
    static let messageByClient = SQLText(
      "SELECT \(Message.columns) FROM messages m WHERE m.sender_id = ?1 AND m.client_id = ?2")
    static let companions: StaticString = """
      SELECT DISTINCT other.user FROM members own JOIN members other ON other.conversation = own.conversation
      WHERE own.user = ?1 AND own.left_number IS NULL AND other.left_number IS NULL AND other.user <> ?1
      ORDER BY other.user LIMIT 10000
      """
    static let expired = SQLText(
      """
      SELECT \(Message.columns) FROM messages m
      WHERE m.expires_at <= ?1 AND m.expires_at IS NOT NULL AND m.deleted_at IS NULL AND m.number IS NOT NULL
      ORDER BY m.expires_at LIMIT ?2
      """)
    static let writeMessage: StaticString = """
      INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at, number, changed, client_id,
        reply_to, urgent, expires_at)
      VALUES (?1, ?2, ?3, '[]', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
      """
  }
}

extension Conversation {
  /// Of `conversations c`.
  static let columns = """
    c.key, c.id, c.kind, c.name, c.history, c.last_number, c.created_at, c.described, c.changed, c.expire_after
    """

  init(_ row: borrowing Row) {
    self.init(
      key: row.integer(0), id: row.text(1), Kind(rawValue: row.text(2)) ?? .group, name: row.optionalText(3),
      history: History(rawValue: row.text(4)) ?? .joined, lastNumber: row.integer(5),
      expireAfter: row.optionalInteger(9), createdAt: row.integer(6), described: row.integer(7),
      changed: row.integer(8))
  }
}

extension Member {
  static let names = [
    "user", "role", "first_number", "joined_number", "joined_change", "left_number", "left_change", "left_at",
    "delivered_number", "read_number", "muted_until", "urgent_breaks_mute", "changed", "configured",
  ]
  /// Of `members x`.
  static let columns =
    names.map { "x.\($0)" }.joined(separator: ", ")
    + ", (SELECT nullif(u.name, '') FROM users u WHERE u.id = x.user)"

  init(_ row: borrowing Row) {
    let left = row.optionalInteger(5).map {
      Leaving(number: $0, change: row.integer(6), time: row.integer(7))
    }
    self.init(
      row.text(0), Role(rawValue: row.text(1)) ?? .member, firstNumber: row.integer(2),
      joinedNumber: row.integer(3), joinedChange: row.integer(4), left: left,
      deliveredNumber: row.integer(8), readNumber: row.integer(9), mutedUntil: row.optionalInteger(10),
      urgentBreaksMute: row.integer(11) == 1, changed: row.integer(12), configured: row.integer(13))
    name = row.optionalText(14)
  }
}

extension Message {
  /// Of `messages m`.
  static let columns = """
    m.conversation_id, m.message_id, m.number, m.sender_id, m.client_id, m.text, m.reply_to, m.urgent, m.created_at, m.edited_at,
    m.deleted_at, m.changed, m.expires_at
    """

  init(_ row: borrowing Row) {
    self.init(
      in: row.text(0), id: row.text(1), number: row.integer(2), from: row.text(3),
      clientId: row.optionalText(4), text: row.optionalText(5), replyTo: row.optionalInteger(6),
      isUrgent: row.optionalInteger(7) == 1,
      createdAt: row.integer(8), editedAt: row.optionalInteger(9), deletedAt: row.optionalInteger(10),
      expiresAt: row.optionalInteger(12), changed: row.integer(11))
  }
}
