import Pipeline
import Platform
import SQLite

/// The statement that finds the attachments which answer to a filter, in order of intake.
///
/// It looks at candidates that an index gives in this order, and says of each whether it answers. So a page that looks at a
/// bounded number of them takes a bounded time, also where hardly any answers.
struct Selection {
  /// A conversation with more attachments than this is found by looking at all, rather than by sorting its own.
  private static let smallConversation = 5000

  /// Where the next page begins: after this attachment.
  struct Mark {
    var createdAt: Int64 = .min
    var key: Int64 = .min

    init() {}

    /// Reads what ``text`` gives; `nil`: it is none.
    init?(_ text: String) {
      let parts = text.split(separator: ".")
      guard parts.count == 2, let createdAt = Int64(parts[0]), let key = Int64(parts[1]) else { return nil }
      (self.createdAt, self.key) = (createdAt, key)
    }

    var text: String { "\(createdAt).\(key)" }
  }

  private(set) var sql = ""
  private(set) var values: [Statement.Value] = []

  /// - Parameters:
  ///   - more: expressions for further columns. Those with a statement in them are NULL where an attachment does not answer:
  ///     to look whether it does, for each of many columns, takes longer than to read a column.
  ///   - isSmall: whether a conversation has few attachments.
  init(
    _ filter: AttachmentFilter, after mark: Mark, more: [String] = [], isSmall: (String) throws -> Bool
  ) rethrows {
    let (candidates, order) = try self.candidates(filter, mark, isSmall)
    let answers = self.answers(filter)
    let columns = more.map { expression in
      answers == "1" || !expression.hasPrefix("(")
        ? ", \(expression)" : ", CASE WHEN \(answers) THEN \(expression) END"
    }.joined()
    sql = """
      SELECT a.created_at, a.key, \(answers)\(columns) FROM \(candidates) ORDER BY \(order)
      """
  }

  private mutating func place(_ value: Statement.Value) -> String {
    values.append(value)
    return "?\(values.count)"
  }

  // MARK: Candidates

  private mutating func candidates(
    _ filter: AttachmentFilter, _ mark: Mark, _ isSmall: (String) throws -> Bool
  ) rethrows -> (from: String, order: String) {
    let rejected: Set<Status> = [.rejected, .failed, .quarantined, .cancelled]
    if let ids = filter.ids {
      return indexed(
        "attachments a",
        "a.id IN (SELECT value FROM json_each(\(place(.text(JSONWriter.array(of: ids.sorted()))))))",
        filter, mark)
    }
    if let sha256 = filter.sha256 {
      return indexed(
        "attachments a INDEXED BY attachments_by_content", "a.sha256 = \(place(.blob(sha256)))", filter, mark)
    }
    if let path = filter.objectPath {
      return indexed(
        "attachments a INDEXED BY attachments_by_content",
        "a.sha256 = (SELECT sha256 FROM names WHERE path = \(place(.text(path))))", filter, mark)
    }
    if let conversation = filter.conversationId, try isSmall(conversation) {
      return indexed(
        "attachments a INDEXED BY attachments_by_message",
        "a.conversation_id = \(place(.text(conversation)))",
        filter, mark)
    }
    if let code = filter.code {
      return indexed(
        "attachments a INDEXED BY attachments_by_code", "a.reason_code = \(place(.text(code)))", filter, mark)
    }
    if filter.stage != nil || filter.statuses.isSubset(of: rejected) {
      return indexed(
        "attachments a INDEXED BY attachments_not_completed", "a.status NOT IN ('queued', 'completed')",
        filter, mark)
    }
    if filter.statuses == [.queued] {
      return (
        "jobs j CROSS JOIN attachments a ON a.key = j.key >> 1 WHERE j.key & 1 = 0 AND j.key > 2 * "
          + place(.integer(mark.key)), "j.key"
      )
    }
    return indexed("attachments a INDEXED BY attachments_by_time", nil, filter, mark)
  }

  private mutating func indexed(
    _ table: String, _ condition: String?, _ filter: AttachmentFilter, _ mark: Mark
  ) -> (from: String, order: String) {
    let first = place(.integer(max(mark.createdAt, filter.since ?? .min)))
    var conditions = [condition].compactMap(\.self)
    conditions.append("a.created_at >= \(first)")
    if let until = filter.until { conditions.append("a.created_at < \(place(.integer(until)))") }
    let (time, key) = (place(.integer(mark.createdAt)), place(.integer(mark.key)))
    conditions.append("(a.created_at > \(time) OR a.key > \(key))")
    return ("\(table) WHERE \(conditions.joined(separator: " AND "))", "a.created_at, a.key")
  }

  /// Whether a conversation has few attachments.
  static func isSmall(_ conversation: String, _ ledger: SQLiteLedger) throws -> Bool {
    let count = try ledger.statement(
      "SELECT count(*) FROM (SELECT 1 FROM attachments WHERE conversation_id = ?1 LIMIT ?2)"
    ).first(.text(conversation), .integer(Int64(smallConversation + 1))) { Int($0.integer(0)) }
    return count ?? 0 <= smallConversation
  }

  // MARK: Answers

  /// An expression that is 1 for an attachment that answers to the filter.
  private mutating func answers(_ filter: AttachmentFilter) -> String {
    var conditions: [String] = []
    if filter.statuses.count < Status.allCases.count {
      let names = filter.statuses.map { "'\($0.rawValue)'" }.sorted()
      conditions.append("a.status IN (\(names.joined(separator: ", ")))")
    }
    for (column, text) in [
      ("a.reason_code", filter.code), ("a.reason_stage", filter.stage),
      ("a.conversation_id", filter.conversationId),
    ] {
      if let text { conditions.append("\(column) IS \(place(.text(text)))") }
    }
    for (column, pattern) in [("a.media_type", filter.mediaType), ("a.file_name", filter.fileName)] {
      if let pattern { conditions.append("coalesce(\(column), '') GLOB \(place(.text(pattern)))") }
    }
    if let since = filter.since { conditions.append("a.created_at >= \(place(.integer(since)))") }
    if let until = filter.until { conditions.append("a.created_at < \(place(.integer(until)))") }
    if let end = filter.endedBefore {
      conditions.append("coalesce(a.finished_at < \(place(.integer(end))), 0)")
    }
    if let path = filter.objectPath { conditions.append("a.url IS \(place(.text(path)))") }
    if let source = filter.source { conditions.append("a.source IS \(place(.blob(source)))") }
    if let start = filter.endedSince {
      conditions.append("coalesce(a.finished_at >= \(place(.integer(start))), 0)")
    }
    if let sha256 = filter.sha256 { conditions.append("a.sha256 IS \(place(.blob(sha256)))") }
    if filter.isWaitingForLink {
      conditions.append("EXISTS (SELECT 1 FROM jobs w WHERE w.key = a.key * 2 AND w.state = 'waiting')")
    }
    if let participant = filter.participant {
      let name = place(.text(participant))
      conditions.append(
        """
        EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = a.conversation_id AND m.message_id = a.message_id
          AND (m.sender_id = \(name) OR EXISTS (SELECT 1 FROM json_each(m.participants) p WHERE p.value = \(name))))
        """)
    }
    return conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
  }
}

extension SQLiteLedger {
  /// Ends the reading of rows.
  private struct Enough: Error {}

  /// The keys of attachments that answer to a filter, with what is asked for of each.
  ///
  /// - Parameter more: expressions for columns from the fourth on.
  func select<Found>(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int, more: [String] = [],
    _ make: (borrowing Row) throws -> Found
  ) throws(LedgerError) -> Page<Found> {
    guard let start = mark.map({ Selection.Mark($0.text) }) ?? Selection.Mark() else {
      throw LedgerError(
        .other, "\(path): '\(mark?.text ?? "")' is no mark of a page; ask for the first page again")
    }
    return try reading {
      let selection = try Selection(filter, after: start, more: more) { try Selection.isSmall($0, self) }
      var page = Page<Found>([], next: nil)
      if limit <= 0 || filter.statuses.isEmpty { return page }
      var looked = 0
      var last = start
      do {
        try connection.prepare(selection.sql).rows(selection.values) { row in
          if page.rows.count == limit || looked == candidates.attachments { throw Enough() }
          looked += 1
          (last.createdAt, last.key) = (row.integer(0), row.integer(1))
          if row.integer(2) == 1 { page.rows.append(try make(row)) }
        }
      } catch is Enough {
        page.next = PageMark(last.text)
      }
      return page
    }
  }

  public func matches(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentMatch> {
    try rows(filter, after: mark, limit: limit) { key in
      try statement("SELECT id, status, size_bytes FROM attachments WHERE key = ?1").first(.integer(key)) {
        row in
        AttachmentMatch(
          id: row.text(0), status: Status(rawValue: row.text(1)) ?? .queued,
          sizeBytes: row.optionalInteger(2) ?? 0)
      }
    }
  }

  public func records(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    try select(filter, after: mark, limit: limit, more: AttachmentRecord.expressions) {
      AttachmentRecord($0, from: 3)
    }
  }

  public func metadata(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<String> {
    try select(filter, after: mark, limit: limit, more: ["a.metadata"]) { $0.text(3) }
  }

  public func attachments(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    try rows(filter, after: mark, limit: limit) { try record(of: $0) }
  }

  /// - Parameter read: `nil`: it was deleted meanwhile, and is left out.
  private func rows<Found>(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int, _ read: (Int64) throws -> Found?
  ) throws(LedgerError) -> Page<Found> {
    let keys = try select(filter, after: mark, limit: limit) { $0.integer(1) }
    return try reading { Page(try keys.rows.compactMap(read), next: keys.next) }
  }
}
