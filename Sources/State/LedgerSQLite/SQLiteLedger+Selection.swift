import LedgerPort
import Pipeline
import Platform
import SQLite

extension SQLiteLedger {
  /// Ends the reading of rows.
  private struct Enough: Error {}

  /// The keys of attachments that answer to a filter, with what is asked for of each.
  ///
  /// - Parameter more: expressions for columns from the third on.
  func select<Found>(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int, more: [String] = [],
    _ make: (borrowing Row) throws -> Found
  ) throws(LedgerError) -> Page<Found> {
    let isNewestFirst = filter.isNewestFirst
    guard let start = mark.map({ Selection.Mark($0.text) }) ?? (isNewestFirst ? .newest : .oldest) else {
      throw LedgerError(
        .other, "\(path): '\(mark?.text ?? "")' is no mark of a page; ask for the first page again")
    }
    return try reading {
      let facts = Selection.Facts(
        conversations: conversations, areRare: areRare, types: types,
        time: isNewestFirst ? startTime : endTime,
        key: isNewestFirst ? startKey : endKey)
      let selection = try Selection(filter, after: start, more: more, facts)
      var page = Page<Found>([], next: nil)
      if limit <= 0 || filter.statuses.isEmpty { return page }
      var last = start
      do {
        try connection.prepare(selection.sql).rows(selection.values) { row in
          if page.rows.count == limit { throw Enough() }
          (last.createdAt, last.key) = (row.integer(0), row.integer(1))
          page.rows.append(try make(row))
        }
        page.next = selection.window.end(isNewestFirst: isNewestFirst).map { PageMark($0.text) }
      } catch is Enough {
        page.next = PageMark(last.text)
      }
      return page
    }
  }

  /// The time up to which a page looks that begins at this one; `nil`: to the end.
  ///
  /// Keys rise with the time, but where the clock was set back. So the one that is a page's number further on says it, and need not be
  /// counted up to.
  private func endTime(from time: Int64) throws -> Int64? {
    let first = try statement(
      "SELECT created_at, key FROM attachments INDEXED BY attachments_by_time WHERE created_at >= ?1 ORDER BY created_at LIMIT 1"
    ).first(.integer(time)) { ($0.integer(0), $0.integer(1)) }
    guard let (begin, key) = first else { return nil }
    let count = Int64(candidates.attachments)
    let end = try statement("SELECT created_at FROM attachments WHERE key >= ?1 ORDER BY key LIMIT 1")
      .first(.integer(key &+ count - 1)) { $0.integer(0) }
    guard let end, end <= begin else { return end }
    return try statement(
      """
      SELECT created_at FROM attachments INDEXED BY attachments_by_time WHERE created_at >= ?1 ORDER BY created_at LIMIT 1 OFFSET ?2
      """
    ).first(.integer(begin), .integer(count - 1)) { $0.integer(0) }
  }

  /// The time down to which a page looks whose newest attachments are of this one; `nil`: to the beginning. See ``endTime(from:)``.
  private func startTime(from time: Int64) throws -> Int64? {
    let first = try statement(
      "SELECT created_at, key FROM attachments INDEXED BY attachments_by_time WHERE created_at <= ?1 ORDER BY created_at DESC LIMIT 1"
    ).first(.integer(time)) { ($0.integer(0), $0.integer(1)) }
    guard let (begin, key) = first else { return nil }
    let count = Int64(candidates.attachments)
    let start = try statement("SELECT created_at FROM attachments WHERE key <= ?1 ORDER BY key DESC LIMIT 1")
      .first(.integer(key &- count + 1)) { $0.integer(0) }
    guard let start, start >= begin else { return start }
    return try statement(
      """
      SELECT created_at FROM attachments INDEXED BY attachments_by_time WHERE created_at <= ?1 ORDER BY created_at DESC LIMIT 1 OFFSET ?2
      """
    ).first(.integer(begin), .integer(count - 1)) { $0.integer(0) }
  }

  /// The key down to which a page looks at queued attachments that begins before this one; `nil`: to the beginning.
  private func startKey(before key: Int64) throws -> Int64? {
    try statement(
      "SELECT subject FROM jobs WHERE kind = 'attachment' AND subject < ?1 ORDER BY subject DESC LIMIT 1 OFFSET ?2"
    )
    .first(
      .integer(max(key, 0)), .integer(Int64(candidates.attachments - 1))
    ) { $0.integer(0) }
  }

  /// The key up to which a page looks at queued attachments that begins after this one; `nil`: to the end.
  private func endKey(after key: Int64) throws -> Int64? {
    try statement(
      "SELECT subject FROM jobs WHERE kind = 'attachment' AND subject > ?1 ORDER BY subject LIMIT 1 OFFSET ?2"
    )
    .first(.integer(max(key, 0)), .integer(Int64(candidates.attachments - 1))) { $0.integer(0) }
  }

  private func conversations(_ id: String?, _ message: String?) throws -> [String]? {
    guard let message else { return try id.flatMap { try isSmall($0) ? [$0] : nil } }
    guard let found = try id.map({ [$0] }) ?? conversations(with: message) else { return nil }
    let count = try statement(
      """
      SELECT count(*) FROM (SELECT 1 FROM attachments INDEXED BY attachments_by_message
        WHERE conversation_id IN (SELECT value FROM json_each(?1)) AND message_id = ?2 LIMIT ?3)
      """
    ).first(.text(JSONWriter.array(of: found)), .text(message), .integer(Int64(Selection.few + 1))) {
      Int($0.integer(0))
    }
    return count ?? 0 <= Selection.few ? found : nil
  }

  private func isSmall(_ conversation: String) throws -> Bool {
    let count = try statement(
      "SELECT count(*) FROM (SELECT 1 FROM attachments WHERE conversation_id = ?1 LIMIT ?2)"
    ).first(.text(conversation), .integer(Int64(Selection.few + 1))) { Int($0.integer(0)) }
    return count ?? 0 <= Selection.few
  }

  /// The conversations that have a message with this id; `nil`: there are more conversations than a page looks at.
  private func conversations(with message: String) throws -> [String]? {
    var (found, isWhole) = ([String](), false)
    // From one to the next, by the index. At the end of all there is one without an id.
    try statement(
      """
      WITH RECURSIVE conversations (id) AS (
        SELECT min(conversation_id) FROM attachments INDEXED BY attachments_by_message
        UNION ALL
        SELECT (SELECT min(conversation_id) FROM attachments INDEXED BY attachments_by_message WHERE conversation_id > conversations.id)
        FROM conversations WHERE conversations.id IS NOT NULL
        LIMIT ?2)
      SELECT id FROM conversations c WHERE id IS NULL OR EXISTS (SELECT 1 FROM attachments a INDEXED BY attachments_by_message
        WHERE a.conversation_id = c.id AND a.message_id = ?1)
      """
    ).rows(.text(message), .integer(Int64(candidates.attachments + 1))) { row in
      if let id = row.optionalText(0) { found.append(id) } else { isWhole = true }
    }
    return isWhole ? found : nil
  }

  private func areRare(_ codes: [String]) throws -> Bool {
    let count = try statement(
      """
      SELECT count(*) FROM (SELECT 1 FROM attachments WHERE reason_code IN (SELECT value FROM json_each(?1)) LIMIT ?2)
      """
    ).first(.text(JSONWriter.array(of: codes)), .integer(Int64(Selection.few + 1))) { Int($0.integer(0)) }
    return count ?? 0 <= Selection.few
  }

  private func types(_ pattern: String) throws -> [String]? {
    // One without a type answers as well: the index has none of those.
    if try statement("SELECT '' GLOB ?1").first(.text(pattern), make: { $0.integer(0) == 1 }) ?? true {
      return nil
    }
    var types: [String] = []
    // From one to the next, by the index.
    try statement(
      """
      WITH RECURSIVE types (name) AS (
        SELECT min(media_type) FROM attachments WHERE media_type IS NOT NULL
        UNION ALL
        SELECT (SELECT min(media_type) FROM attachments WHERE media_type > types.name) FROM types WHERE types.name IS NOT NULL)
      SELECT name FROM types WHERE name GLOB ?1
      """
    ).rows(.text(pattern)) { types.append($0.text(0)) }
    if types.count < 2 { return types }
    let count = try statement(
      """
      SELECT count(*) FROM (SELECT 1 FROM attachments WHERE media_type IN (SELECT value FROM json_each(?1)) LIMIT ?2)
      """
    ).first(.text(JSONWriter.array(of: types)), .integer(Int64(Selection.few + 1))) { Int($0.integer(0)) }
    return count ?? 0 <= Selection.few ? types : nil
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
    var page = try select(filter, after: mark, limit: limit, more: AttachmentRecord.expressions) {
      AttachmentRecord($0, from: 2)
    }
    try reading { try fillDerived(&page.rows) }
    return page
  }

  public func metadata(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<String> {
    try select(filter, after: mark, limit: limit, more: ["a.metadata"]) { $0.text(2) }
  }

  public func attachments(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    let hasDerived = try reading { () throws -> Bool in try self.hasDerived() }
    return try rows(filter, after: mark, limit: limit) { try record(of: $0, hasDerived: hasDerived) }
  }

  /// - Parameter read: `nil`: it was deleted meanwhile, and is left out.
  private func rows<Found>(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int, _ read: (Int64) throws -> Found?
  ) throws(LedgerError) -> Page<Found> {
    let keys = try select(filter, after: mark, limit: limit) { $0.integer(1) }
    return try reading { Page(try keys.rows.compactMap(read), next: keys.next) }
  }
}
