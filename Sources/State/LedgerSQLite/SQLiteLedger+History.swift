import LedgerPort
import SQLite

// Reads of conversations.
extension SQLiteLedger {
  public func conversation(_ id: String, for user: String?) throws(LedgerError) -> ConversationView? {
    try reading {
      guard let conversation = try conversation(id) else { return nil }
      return try view(conversation, for: user)
    }
  }

  public func membership(of id: String, for user: String?) throws(LedgerError) -> ConversationView? {
    try reading {
      guard let conversation = try conversation(id) else { return nil }
      let view = ConversationView(
        conversation, members: try members(of: conversation.key), unread: 0, last: nil)
      return user == nil || view.member(user) != nil ? view : nil
    }
  }

  public func conversations(
    of user: String?, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<ConversationView> {
    guard let first = mark == nil ? 0 : mark.flatMap({ Int64($0.text) }) else {
      throw LedgerError(.other, "'\(mark?.text ?? "")' is no mark of a page")
    }
    return try reading {
      var found: [Conversation] = []
      let most = Statement.Value.integer(Int64(max(limit, 0)))
      if let user {
        try statement(History.conversationsOf).rows(.text(user), .integer(first), most) {
          found.append(Conversation($0))
        }
      } else {
        try statement(History.conversations).rows(.integer(first), most) { found.append(Conversation($0)) }
      }
      let next = found.count < limit ? nil : found.last.map { PageMark("\($0.key)") }
      return Page(try found.compactMap { try view($0, for: user) }, next: next)
    }
  }

  /// `nil`: this user has never been a member.
  private func view(_ conversation: Conversation, for user: String?) throws -> ConversationView? {
    var view = ConversationView(
      conversation, members: try members(of: conversation.key), unread: 0, last: nil)
    var member: Member?
    if let user {
      member = try self.member(user, of: conversation.key)
      guard let member else { return nil }
      let last = min(conversation.lastNumber, member.leftNumber ?? .max)
      // Without newer messages the count is 0.
      if last > max(member.readNumber, member.joinedNumber) {
        view.unread =
          try statement(History.unread).first(
            .text(conversation.id), .integer(max(member.readNumber, member.joinedNumber)), .integer(last),
            .text(user)
          ) { $0.integer(0) } ?? 0
      }
    }
    view.last = try messages(in: conversation, seenBy: member, before: nil, limit: 1).first
    return view
  }

  public func message(writtenAs clientId: String, by sender: String) throws(LedgerError) -> Message? {
    try reading { try message(ofClient: clientId, from: sender) }
  }

  public func messages(
    in conversation: Conversation, seenBy member: Member?, before: Int64?, limit: Int
  ) throws(LedgerError) -> [Message] {
    try reading {
      var found: [Message] = []
      let last = min(conversation.lastNumber, member?.leftNumber ?? .max)
      try statement(History.page).rows(
        .text(conversation.id), .integer(member?.firstNumber ?? 1), .integer(min(last, (before ?? .max) - 1)),
        .integer(Int64(max(limit, 0)))
      ) { found.append(Message($0)) }
      return try found.map { try seen($0, by: member) }
    }
  }

  /// A former member sees the message as of its leaving.
  private func seen(_ message: Message, by member: Member?) throws -> Message {
    try member?.left.map { try self.message(message, asOf: $0.time) } ?? message
  }

  public func message(
    _ number: Int64, in conversation: Conversation, seenBy member: Member?
  ) throws(LedgerError) -> Message? {
    try reading {
      guard member?.sees(number) != false, let message = try message(number, in: conversation.id) else {
        return nil
      }
      return try seen(message, by: member)
    }
  }

  public func attachments(
    ofMessages ids: [String], in conversation: String, seenBy member: Member?
  ) throws(LedgerError) -> [String: [AttachmentRecord]] {
    try reading {
      var found: [String: [AttachmentRecord]] = [:]
      for id in ids {
        var records: [AttachmentRecord] = []
        try statement(History.attachments).rows(
          .text(conversation), .text(id), .integer(member?.left?.time ?? .max)
        ) {
          records.append(AttachmentRecord($0))
        }
        try fillDerived(&records)
        for index in records.indices { records[index].steps = try lastSteps(of: records[index].key) }
        if !records.isEmpty { found[id] = records }
      }
      return found
    }
  }

  // MARK: What has changed

  public func changes(
    of user: String?, after: Int64, upTo: Int64, limit: Int
  ) throws(LedgerError) -> (changes: [ConversationChange], upTo: Int64) {
    try reading {
      var touched: [Conversation] = []
      let (from, to) = (Statement.Value.integer(after), Statement.Value.integer(upTo))
      if let user {
        try statement(History.touchedOf).rows(.text(user), from) { touched.append(Conversation($0)) }
      } else {
        try statement(History.touched).rows(from) { touched.append(Conversation($0)) }
      }
      // Whole exchanges with about `limit` messages in all.
      var numbers: [Int64] = []
      for conversation in touched {
        try statement(History.numbers).rows(
          .text(conversation.id), from, to, .integer(Int64(max(limit, 0) + 1))
        ) { numbers.append($0.integer(0)) }
      }
      numbers.sort()
      var last = upTo
      if numbers.count > limit {
        // At least the first exchange, however large.
        last = max(numbers[limit] - 1, numbers[0])
      }
      var changes: [ConversationChange] = []
      for conversation in touched {
        guard let change = try change(in: conversation, for: user, after: after, upTo: last) else { continue }
        changes.append(change)
      }
      return (changes, last)
    }
  }

  public func changes(in conversation: String, at number: Int64) throws(LedgerError) -> ConversationChange? {
    try reading {
      guard let conversation = try self.conversation(conversation) else { return nil }
      return try change(in: conversation, for: nil, after: number - 1, upTo: number)
    }
  }

  /// `nil`: no visible change.
  private func change(
    in conversation: Conversation, for user: String?, after: Int64, upTo: Int64
  ) throws -> ConversationChange? {
    guard let view = try view(conversation, for: user) else { return nil }
    func isNew(_ number: Int64) -> Bool { number > after && number <= upTo }
    let own = view.members.first { $0.user.utf8.elementsEqual((user ?? "").utf8) }
    let members = view.members.filter { isNew($0.changed) }
    // To a former member, a message has changed at its leaving the last time, unless it was deleted since.
    let leaving = own?.left
    var messages: [Message] = []
    try statement(History.changed).rows(
      .text(conversation.id), .integer(after), .integer(leaving == nil ? upTo : .max)
    ) { messages.append(Message($0)) }
    messages.removeAll { message in
      let isLater = message.deletedAt == nil && message.changed > leaving?.change ?? .max
      return own?.sees(message.number) == false
        || !isNew(isLater ? leaving?.change ?? 0 : message.changed)
    }
    messages = try messages.map { try seen($0, by: own) }
    if let leaving, leaving.change < after {
      return messages.isEmpty ? nil : ConversationChange(view, members: [], messages: messages)
    }
    let isOwn = own.map { isNew($0.configured) || isNew($0.joinedChange) }
    let isConfigured = isOwn ?? view.members.contains { isNew($0.configured) }
    if members.isEmpty && messages.isEmpty && !isNew(conversation.described) && !isConfigured { return nil }
    return ConversationChange(view, members: members, messages: messages)
  }

  private enum History {
    static let conversations = SQLText(
      ConversationText.conversations + " WHERE c.key > ?1 ORDER BY c.key LIMIT ?2")
    static let ofUser = " JOIN members x ON x.conversation = c.key WHERE x.user = ?1"
    static let conversationsOf = SQLText(
      ConversationText.conversations + ofUser + " AND c.key > ?2 ORDER BY c.key LIMIT ?3")
    static let touched = SQLText(ConversationText.conversations + " WHERE c.changed > ?1 ORDER BY c.key")
    static let touchedOf = SQLText(
      ConversationText.conversations + ofUser + " AND c.changed > ?2 ORDER BY c.key")
    static let unread: StaticString = """
      SELECT count(*) FROM messages m WHERE m.conversation_id = ?1 AND m.number > ?2 AND m.number <= ?3
        AND m.sender_id <> ?4 AND m.deleted_at IS NULL
      """
    static let page = SQLText(
      ConversationText.messages + " AND m.number >= ?2 AND m.number <= ?3 ORDER BY m.number DESC LIMIT ?4")
    static let numbers: StaticString = """
      SELECT m.changed FROM messages m WHERE m.conversation_id = ?1 AND m.changed > ?2 AND m.changed <= ?3 ORDER BY m.changed LIMIT ?4
      """
    static let changed = SQLText(
      ConversationText.messages + " AND m.changed > ?2 AND m.changed <= ?3 ORDER BY m.number")
    static let attachments = SQLText(
      """
      SELECT \(AttachmentRecord.columnList) FROM attachments a JOIN messages m USING (conversation_id, message_id)
      WHERE a.conversation_id = ?1 AND a.message_id = ?2 AND a.parent IS NULL AND a.created_at <= ?3 ORDER BY a.key
      """)
  }
}
