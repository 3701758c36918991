import LedgerPort
import SQLite

/// The statement of a search, which selects the key, the conversation and the number of each visible message with the words, and whether
/// the filters let it pass.
struct SearchSelection {
  private(set) var sql = ""
  private(set) var values: [Statement.Value] = []
  /// The words as a query of FTS5 (https://sqlite.org/fts5.html#full_text_query_syntax); `nil`: there are filters alone.
  let words: String?

  /// - Parameters:
  ///   - rooms: the keys of the conversations to look in; `nil`: all.
  ///   - start: the key of the last message of the page before; or how many came before, by relevance.
  init(_ query: SearchQuery, rooms: [Int64]?, user: String?, isNewestFirst: Bool, after start: Int64) {
    words = query.phrases.isEmpty ? nil : Self.match(query.phrases)
    let clauses = [rooms.map(Self.match), words].compactMap { $0 }
    var conditions: [String] = []
    var tables = "documents d"
    var key = "d.key"
    if !clauses.isEmpty {
      tables = "words w CROSS JOIN documents d ON d.key = w.rowid"
      key = "w.rowid"
      conditions.append("words MATCH \(bind(.text(clauses.joined(separator: " AND "))))")
    }
    tables += """
       CROSS JOIN conversations c ON c.key = d.conversation
       CROSS JOIN messages m ON m.conversation_id = c.id AND m.number = d.number
      """
    if let user {
      tables += " CROSS JOIN members x ON x.conversation = d.conversation AND x.user = \(bind(.text(user)))"
      // A former member finds the messages without a later change.
      conditions.append(
        "d.number >= x.first_number AND (x.left_number IS NULL OR d.number <= x.left_number AND m.changed <= x.left_change)"
      )
    }
    if isNewestFirst { conditions.append("\(key) < \(bind(.integer(start)))") }
    let filters = filters(of: query)
    let passes = filters.isEmpty ? "1" : filters.joined(separator: " AND ")
    sql = "SELECT \(key), c.id, d.number, \(passes) FROM \(tables)"
    if !conditions.isEmpty { sql += " WHERE " + conditions.joined(separator: " AND ") }
    sql +=
      isNewestFirst
      ? " ORDER BY \(key) DESC"
      : " ORDER BY bm25(words, 0, 10, 5, 1), w.rowid DESC LIMIT -1 OFFSET \(bind(.integer(start)))"
  }

  private mutating func bind(_ value: Statement.Value) -> String {
    values.append(value)
    return "?\(values.count)"
  }

  private mutating func filters(of query: SearchQuery) -> [String] {
    var filters: [String] = []
    if let sender = query.senderId { filters.append("m.sender_id = \(bind(.text(sender)))") }
    if let after = query.after { filters.append("m.created_at >= \(bind(.integer(after)))") }
    if let before = query.before { filters.append("m.created_at < \(bind(.integer(before)))") }
    for kind in query.kinds { filters.append("(\(filter(ofKind: kind)))") }
    return filters
  }

  private mutating func filter(ofKind kind: String) -> String {
    if kind == "link" { return "coalesce(instr(m.text, 'https://') + instr(m.text, 'http://') > 0, 0)" }
    var condition = "1"
    if ["image", "audio", "video", "text"].contains(kind) {
      condition = "a.media_type LIKE '\(kind)/%'"
    } else if kind != "file" {
      let kind = bind(.text(kind))
      condition = """
        a.media_type = \(kind) OR substr(a.media_type, -length(\(kind)) - 1) = '/' || \(kind)
          OR lower(substr(a.file_name, -length(\(kind)) - 1)) = '.' || \(kind)
        """
    }
    return """
      EXISTS (SELECT 1 FROM attachments a WHERE a.conversation_id = m.conversation_id AND a.message_id = m.message_id
        AND (\(condition)))
      """
  }

  private static func match(_ rooms: [Int64]) -> String {
    "room : (" + rooms.map { "\"c\($0)\"" }.joined(separator: " OR ") + ")"
  }

  /// All phrases, in quotes. Within quotes, only a quote and the end of a C string are syntax.
  private static func match(_ phrases: [SearchQuery.Phrase]) -> String {
    let quoted = phrases.map { phrase in
      var text = "\""
      for scalar in phrase.text.unicodeScalars where scalar != "\0" {
        text.unicodeScalars.append(scalar)
        if scalar == "\"" { text.append("\"") }
      }
      return text + (phrase.isPrefix ? "\" *" : "\"")
    }
    return "{text names contents} : (" + quoted.joined(separator: " ") + ")"
  }

  // MARK: Excerpts

  /// Around each match; texts on record have neither.
  static let begin: Unicode.Scalar = "\u{1}"
  static let end: Unicode.Scalar = "\u{2}"

  /// The columns are in the order of ``SearchHit/Field``.
  static let excerpts: StaticString = """
    SELECT snippet(words, 1, char(1), char(2), '…', 24), snippet(words, 2, char(1), char(2), '…', 24),
      snippet(words, 3, char(1), char(2), '…', 24)
    FROM words WHERE words MATCH ?1 AND rowid = ?2
    """
}
