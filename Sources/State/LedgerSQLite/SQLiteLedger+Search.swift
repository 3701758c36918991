import LedgerPort
import LedgerRules
import SQLite

// The search among messages.
extension SQLiteLedger {
  // MARK: The index

  package func makeFindable(_ message: Message) throws {
    let (conversation, id) = (Statement.Value.text(message.conversationId), Statement.Value.text(message.id))
    try statement(IndexText.record).run(conversation, id)
    if message.text == nil { try statement(IndexText.forget).run(conversation, .integer(message.number), id) }
  }

  package func messages(withDerived sha256: [UInt8]) throws -> [Message] {
    var messages: [Message] = []
    try statement(IndexText.withDerived).rows(.blob(sha256)) { messages.append(Message($0)) }
    return messages
  }

  /// Records again what differs from the messages.
  public func mendSearch() throws(LedgerError) {
    try transaction {
      try statement(IndexText.forgetAll).run()
      try statement(IndexText.recordAll).run()
      try statement(IndexText.rebuild).run()
    }
  }

  /// Takes the words of deleted rows out of the indexes: segments keep them until they are merged.
  ///
  /// - Parameter end: a time of the monotonic clock at which it stops.
  /// - Returns: false: there is more to merge.
  func mergeWords(until end: UInt64) throws -> Bool {
    for merge in IndexText.merges {
      while true {
        let before = connection.totalChanges
        try statement(merge).run()
        // See https://sqlite.org/fts5.html#the_merge_command.
        if connection.totalChanges - before < 2 { break }
        if clock.monotonic() >= end { return false }
      }
    }
    return true
  }

  // MARK: Searching

  /// The messages with the words that one page looks at.
  private static let candidates: Int64 = 20_000

  /// Ends the reading of rows.
  private struct Enough: Error {}

  public func search(
    _ query: SearchQuery, for user: String?, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<SearchHit> {
    let isNewestFirst = query.order == .newest || query.phrases.isEmpty
    let first: Int64 = isNewestFirst ? .max : 0
    guard let start = mark == nil ? first : mark.flatMap({ Int64($0.text) }) else {
      throw LedgerError(.other, "'\(mark?.text ?? "")' is no mark of a page; search again without it")
    }
    return try reading {
      var page = Page<SearchHit>([], next: nil)
      let rooms = try rooms(query, of: user)
      if limit <= 0 || rooms?.isEmpty == true { return page }
      let selection = SearchSelection(
        query, rooms: rooms, user: user, isNewestFirst: isNewestFirst, after: start)
      var keys: [Int64] = []
      var (seen, last) = (Int64(0), start)
      do {
        try connection.prepare(selection.sql).rows(selection.values) { row in
          if keys.count == limit || seen == Self.candidates { throw Enough() }
          seen += 1
          last = isNewestFirst ? row.integer(0) : start + seen
          guard row.integer(3) == 1 else { return }
          keys.append(row.integer(0))
          page.rows.append(SearchHit(in: row.text(1), row.integer(2)))
        }
      } catch is Enough {
        page.next = PageMark("\(last)")
      }
      if let words = selection.words {
        for (index, key) in keys.enumerated() { page.rows[index].excerpts = try excerpts(of: key, words) }
      }
      return page
    }
  }

  /// The keys of the conversations that a search is in; `nil`: all.
  private func rooms(_ query: SearchQuery, of user: String?) throws -> [Int64]? {
    var rooms: [Int64]?
    if let user {
      var own: [Int64] = []
      try statement("SELECT conversation FROM members WHERE user = ?1").rows(.text(user)) {
        own.append($0.integer(0))
      }
      rooms = own
    }
    guard let id = query.conversationId else { return rooms }
    guard let only: Conversation = try conversation(id) else { return [] }
    return rooms?.contains(only.key) == false ? [] : [only.key]
  }

  private func excerpts(of key: Int64, _ words: String) throws -> [SearchHit.Excerpt] {
    try statement(SearchSelection.excerpts).first(.text(words), .integer(key)) { row in
      SearchHit.Field.allCases.enumerated().compactMap { index, field in
        SearchHit.Excerpt(field, marked: row.text(Int32(index)))
      }
    } ?? []
  }

  enum IndexText {
    /// Merges some pages of the segments of an index.
    static let merges = ["words", "user_names"].map {
      SQLText("INSERT INTO \($0) (\($0), rank) VALUES ('merge', -100)")
    }
    private static let columns = "conversation, number, text, names, contents"
    /// What documents are to be. No view, since `PRAGMA integrity_check` does not look for lost pages if the first table in SQLite's hash
    /// is a view (SQLite 3.40).
    private static let findable = """
      (
      SELECT c.key AS conversation, m.number, m.conversation_id, m.message_id,
        replace(replace(coalesce(m.text, ''), char(1), ' '), char(2), ' ') AS text,
        coalesce((SELECT replace(replace(substr(group_concat(n.file_name, char(10)), 1, 65536), char(1), ' '), char(2), ' ')
          FROM (SELECT a.file_name FROM attachments a WHERE a.conversation_id = m.conversation_id AND a.message_id = m.message_id
            ORDER BY a.key LIMIT 1000) n), '') AS names,
        coalesce((SELECT replace(replace(substr(group_concat(n.text, char(10)), 1, 65536), char(1), ' '), char(2), ' ')
          FROM (SELECT t.text FROM attachments a JOIN derived d ON d.attachment_key = a.key JOIN texts t ON t.sha256 = d.sha256
            WHERE a.conversation_id = m.conversation_id AND a.message_id = m.message_id AND a.status = 'completed'
            ORDER BY a.key, d.name LIMIT 1000) n), '') AS contents
      FROM messages m JOIN conversations c ON c.id = m.conversation_id
      WHERE m.number IS NOT NULL AND m.deleted_at IS NULL
      )
      """
    private static let found = "SELECT \(columns) FROM \(findable) f"
    private static let insert = "INSERT INTO documents (\(columns)) "
    private static let isNone = "text = '' AND names = '' AND contents = ''"

    static let record = SQLText(
      insert + found + " WHERE f.conversation_id = ?1 AND f.message_id = ?2 AND NOT (\(isNone))"
        + """
         ON CONFLICT DO UPDATE SET text = excluded.text, names = excluded.names, contents = excluded.contents
          WHERE (text, names, contents) IS NOT (excluded.text, excluded.names, excluded.contents)
        """)
    /// Removes the document of a message without a text and a name.
    static let forget = SQLText(
      """
      DELETE FROM documents WHERE conversation = (SELECT key FROM conversations WHERE id = ?1) AND number = ?2
        AND NOT EXISTS (SELECT 1 FROM \(findable) f WHERE f.conversation_id = ?1 AND f.message_id = ?3 AND NOT (\(isNone)))
      """)
    static let withDerived = SQLText(
      """
      SELECT DISTINCT \(Message.columns) FROM derived d JOIN attachments a ON a.key = d.attachment_key
      JOIN messages m USING (conversation_id, message_id) WHERE d.sha256 = ?1 AND m.number IS NOT NULL
      """)
    static let forgetAll = SQLText(
      "DELETE FROM documents WHERE (\(columns)) NOT IN (\(found) WHERE NOT (\(isNone)))")
    static let recordAll = SQLText(
      insert + found
        + " WHERE NOT (\(isNone)) AND (conversation, number) NOT IN (SELECT conversation, number FROM documents)"
        + " ORDER BY (SELECT created_at FROM messages m WHERE m.conversation_id = f.conversation_id AND m.number = f.number)"
    )
    static let rebuild: StaticString = "INSERT INTO words (words) VALUES ('rebuild')"

    /// For ``InspectionRule``.
    static let differences = """
      SELECT 'message ' || f.number || ' of conversation ' || quote(f.conversation_id), 'a search does not find it by what it says'
      FROM \(findable) f WHERE NOT (\(isNone)) AND (\(columns)) NOT IN (SELECT \(columns) FROM documents)
      UNION ALL
      SELECT 'message ' || d.number || ' of conversation ' || quote((SELECT id FROM conversations WHERE key = d.conversation)),
        'a search finds it by what it does not say'
      FROM documents d WHERE (conversation, number) NOT IN (SELECT conversation, number FROM \(findable) f WHERE NOT (\(isNone)))
      """
  }
}

extension SearchHit.Excerpt {
  /// The limit of a part, in characters: a text can be one long word.
  private static let longest = 200

  /// - Parameter text: with marks around each match; without any, it is no excerpt.
  fileprivate init?(_ field: SearchHit.Field, marked text: String) {
    guard text.unicodeScalars.contains(SearchSelection.begin) else { return nil }
    var parts: [(text: String, isMatch: Bool)] = []
    var (part, isMatch) = ("", false)
    func add() {
      if part.isEmpty { return }
      // The side next to a match is kept.
      if part.count > Self.longest {
        part = parts.isEmpty && !isMatch ? "…" + part.suffix(Self.longest) : part.prefix(Self.longest) + "…"
      }
      parts.append((part, isMatch))
    }
    for scalar in text.unicodeScalars {
      guard scalar == SearchSelection.begin || scalar == SearchSelection.end else {
        part.unicodeScalars.append(scalar)
        continue
      }
      add()
      (part, isMatch) = ("", scalar == SearchSelection.begin)
    }
    add()
    self.init(field, parts)
  }
}
