import LedgerPort
import LedgerRules
import Platform
import SQLite

// Users and their sessions.
extension SQLiteLedger {
  package func row(ofUser id: String) throws -> Account? {
    try statement(UserText.byId).first(.text(id)) { Account($0) }
  }

  package func row(ofEmail key: String) throws -> Account? {
    try statement(UserText.byEmail).first(.text(key)) { Account($0) }
  }

  package func setAccount(_ account: Account) throws {
    let user = account.user
    try statement(UserText.set).run(
      .text(user.id), .text(user.name), .optional(user.email), .optional(user.email.map(User.emailKey)),
      .optional(account.password), .text(user.role.rawValue), .integer(user.createdAt),
      .optional(user.disabledAt), .optional(user.erasedAt), .optional(account.erasing?.description))
  }

  package func conversationIds(of user: String) throws -> [String] {
    var ids: [String] = []
    try statement(
      "SELECT c.id FROM members x JOIN conversations c ON c.key = x.conversation WHERE x.user = ?1 ORDER BY c.key"
    ).rows(.text(user)) { ids.append($0.text(0)) }
    return ids
  }

  package func nextConversation(of user: String, from key: Int64) throws -> Conversation? {
    try statement(UserText.nextConversation).first(.text(user), .integer(key)) { Conversation($0) }
  }

  package func messages(from sender: String, in conversationId: String, after: Int64, upTo last: Int64) throws
    -> [Message]
  {
    var messages: [Message] = []
    try statement(UserText.written).rows(
      .text(conversationId), .text(sender), .integer(after), .integer(last)
    ) { messages.append(Message($0)) }
    return messages
  }

  package func attachments(from sender: String, after key: Int64) throws -> (ids: [String], last: Int64?) {
    // As many as one transaction looks at, and as many as it deletes.
    let (looked, found) = (Int64(10_000), 200)
    var ids: [String] = []
    var last: Int64?
    try statement(UserText.sent).rows(
      .text(sender), .integer(key), .integer(key + looked), .integer(Int64(found))
    ) { row in
      ids.append(row.text(1))
      last = row.integer(0)
    }
    if ids.count == found { return (ids, last) }
    let end = try statement("SELECT max(key) FROM attachments").first { $0.optionalInteger(0) } ?? nil
    return (ids, key + looked < end ?? 0 ? key + looked : nil)
  }

  // MARK: Sessions

  package func prolongSession(_ token: String, until: Int64) throws {
    try statement(
      "UPDATE tokens SET expires_at = ?2 WHERE id = ?1 AND device IS NOT NULL AND revoked_at IS NULL AND expires_at < ?2"
    ).run(.text(token), .integer(until))
  }

  package func removeEndedSessions(of user: String, leaving most: Int, at now: Int64) throws {
    try statement(
      """
      DELETE FROM tokens WHERE name = ?1 AND device IS NOT NULL AND (revoked_at IS NOT NULL OR expires_at <= ?2 OR id NOT IN (
        SELECT id FROM tokens WHERE name = ?1 AND device IS NOT NULL AND revoked_at IS NULL ORDER BY expires_at DESC, id LIMIT ?3))
      """
    ).run(.text(user), .integer(now), .integer(Int64(most)))
  }

  package func removeSessions(of user: String, except kept: String?) throws {
    try statement("DELETE FROM tokens WHERE name = ?1 AND device IS NOT NULL AND id IS NOT ?2").run(
      .text(user), .optional(kept))
  }

  package func removeSessions(of user: String, only one: String?) throws {
    try statement("DELETE FROM tokens WHERE name = ?1 AND device IS NOT NULL AND (?2 IS NULL OR id = ?2)")
      .run(
        .text(user), .optional(one))
  }

  public func sessions(of user: String) throws(LedgerError) -> [AccessToken] {
    try reading {
      var tokens: [AccessToken] = []
      try statement(UserText.sessions).rows(.text(user)) { tokens.append(AccessToken($0)) }
      return tokens
    }
  }

  // MARK: Reads

  public func account(_ id: String) throws(LedgerError) -> Account? { try reading { try row(ofUser: id) } }

  public func account(ofEmail key: String) throws(LedgerError) -> Account? {
    try reading { try row(ofEmail: key) }
  }

  public func users(matching text: String, limit: Int) throws(LedgerError) -> [User] {
    try reading {
      var users: [User] = []
      if let user = try row(ofEmail: User.emailKey(text))?.user, user.disabledAt == nil { users.append(user) }
      let words = SearchWords.prefixes(text)
      if words.isEmpty { return users }
      try statement(UserText.matching).rows(.text(words), .integer(Int64(limit))) {
        let user = Account($0).user
        if users.count < limit && user.id != users.first?.id { users.append(user) }
      }
      return users
    }
  }

  public func users(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<User> {
    try reading {
      var users: [User] = []
      try statement(UserText.page).rows(.text(mark?.text ?? ""), .integer(Int64(limit))) {
        users.append(Account($0).user)
      }
      return Page(users, next: users.count < limit ? nil : users.last.map { PageMark($0.id) })
    }
  }

  public func sharesConversation(_ one: String, with other: String) throws(LedgerError) -> Bool {
    try reading {
      try statement(
        """
        SELECT EXISTS (SELECT 1 FROM members x JOIN members y USING (conversation)
          WHERE x.user = ?1 AND x.left_at IS NULL AND y.user = ?2 AND y.left_at IS NULL)
        """
      ).first(.text(one), .text(other)) { $0.integer(0) == 1 } ?? false
    }
  }

  enum UserText {
    static let select = """
      SELECT u.id, u.name, u.email, u.role, u.created_at, u.disabled_at, u.erased_at, u.password, u.erasing FROM users u
      """
    static let byId = SQLText(select + " WHERE u.id = ?1")
    static let byEmail = SQLText(select + " WHERE u.email_key = ?1")
    static let page = SQLText(select + " WHERE u.id > ?1 ORDER BY u.id LIMIT ?2")
    static let matching = SQLText(
      select
        + " JOIN user_names n ON n.rowid = u.key WHERE user_names MATCH ?1 AND u.disabled_at IS NULL ORDER BY u.name, u.id LIMIT ?2"
    )
    static let set = SQLText(
      """
      INSERT INTO users (id, name, email, email_key, password, role, created_at, disabled_at, erased_at, erasing)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      ON CONFLICT (id) DO UPDATE SET name = ?2, email = ?3, email_key = ?4, password = ?5, role = ?6, disabled_at = ?8,
        erased_at = ?9, erasing = ?10
      """)
    static let nextConversation = SQLText(
      """
      SELECT \(Conversation.columns) FROM members x JOIN conversations c ON c.key = x.conversation
      WHERE x.user = ?1 AND x.conversation >= ?2 ORDER BY x.conversation LIMIT 1
      """)
    static let written = SQLText(
      """
      SELECT \(Message.columns) FROM messages m WHERE m.conversation_id = ?1 AND m.sender_id = ?2 AND m.number > ?3 AND m.number <= ?4
        AND (m.deleted_at IS NULL OR m.client_id IS NOT NULL) ORDER BY m.number
      """)
    static let sent = SQLText(
      """
      SELECT a.key, a.id FROM attachments a JOIN messages m USING (conversation_id, message_id)
      WHERE m.sender_id = ?1 AND a.key > ?2 AND a.key <= ?3 ORDER BY a.key LIMIT ?4
      """)
    static let sessions = SQLText(
      AccessToken.select + " WHERE t.name = ?1 AND t.device IS NOT NULL ORDER BY t.created_at DESC, t.id")
  }
}

extension Account {
  fileprivate init(_ row: borrowing Row) {
    self.init(
      User(
        row.text(0), name: row.text(1), email: row.optionalText(2),
        role: AccessToken.Role(rawValue: row.text(3)) ?? .user, createdAt: row.integer(4),
        disabledAt: row.optionalInteger(5)),
      password: row.optionalText(7))
    user.erasedAt = row.optionalInteger(6)
    erasing = row.optionalText(8).flatMap(EraseMark.init)
  }
}

/// Text that a person typed, as a query of FTS5 (https://sqlite.org/fts5.html#full_text_query_syntax).
enum SearchWords {
  /// Each word as the beginning of a word; empty: there is none.
  static func prefixes(_ text: String) -> String {
    words(text).map { "\"\($0)\"*" }.joined(separator: " ")
  }

  /// Its words. All else separates them, so that nothing in it is syntax.
  static func words(_ text: String) -> [String] {
    text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }
}
