import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Attachments that were taken out of others, and those that wait for them.
extension SQLiteLedger {
  private enum Text {
    static let parent: StaticString = "SELECT parent FROM attachments WHERE key = ?1"
    static let moveChildren: StaticString = "UPDATE attachments SET parent = ?2 WHERE parent = ?1"
    static let queuedChildren: StaticString =
      "SELECT count(*) FROM attachments WHERE parent = ?1 AND status = 'queued'"
    static let row: StaticString =
      "SELECT contents, bytes, microseconds, open, waits FROM expansions WHERE attachment_key = ?1"
    static let set: StaticString = """
      INSERT INTO expansions (attachment_key, contents, bytes, microseconds, open, waits) VALUES (?1, ?2, ?3, ?4, 0, 0)
      ON CONFLICT DO UPDATE SET contents = ?2, bytes = ?3, microseconds = ?4, open = ?5
      """
    static let remove: StaticString = "DELETE FROM expansions WHERE attachment_key = ?1"
    static let wait: StaticString = """
      UPDATE expansions SET open = ?2, waits = 1, media_type = ?3, size_bytes = ?4, sha256 = ?5, metadata = ?6, said = ?7
      WHERE attachment_key = ?1
      """
    static let endWaiting: StaticString = """
      UPDATE expansions SET open = 0, waits = 0, media_type = NULL, size_bytes = NULL, sha256 = NULL, metadata = '{}', said = '[]'
      WHERE attachment_key = ?1
      """
    static let waiting: StaticString = """
      SELECT media_type, size_bytes, sha256, metadata, said FROM expansions WHERE attachment_key = ?1 AND waits = 1
      """
    /// How many children an attachment has, and their bytes.
    static let own: StaticString =
      "SELECT count(*), coalesce(sum(source_size), 0) FROM attachments WHERE parent = ?1"
    static let children: StaticString = """
      SELECT status, count(*) FROM attachments WHERE parent = ?1 GROUP BY status
      """
    static let hasUnfinished: StaticString = """
      WITH RECURSIVE tree (key, status) AS (
        SELECT key, status FROM attachments WHERE parent = ?1
        UNION SELECT attachments.key, attachments.status FROM attachments JOIN tree ON parent = tree.key
      ) SELECT 1 FROM tree WHERE status NOT IN ('queued', 'completed') LIMIT 1
      """
    static let contents: StaticString = """
      WITH RECURSIVE tree (key, id) AS (
        SELECT key, id FROM attachments WHERE parent = ?1
        UNION SELECT attachments.key, attachments.id FROM attachments JOIN tree ON parent = tree.key
      ) SELECT id FROM tree
      """
  }

  // MARK: Rows

  package func parent(of key: Int64) throws -> Int64? {
    try statement(Text.parent).first(.integer(key)) { $0.optionalInteger(0) } ?? nil
  }

  package func expansion(of key: Int64) throws -> ExpansionRow? {
    try statement(Text.row).first(.integer(key)) { values in
      var row = ExpansionRow()
      (row.contents, row.bytes, row.microseconds) = (values.integer(0), values.integer(1), values.integer(2))
      (row.open, row.isWaiting) = (values.integer(3), values.integer(4) == 1)
      return row
    }
  }

  package func setExpansion(_ key: Int64, _ row: ExpansionRow?) throws {
    guard let row else { return try statement(Text.remove).run(.integer(key)) }
    try statement(Text.set).run(
      .integer(key), .integer(row.contents), .integer(row.bytes), .integer(row.microseconds),
      .integer(row.open))
  }

  package func setWaiting(
    _ key: Int64, open: Int64, _ outcome: AttachmentOutcome, _ steps: [Step]
  ) throws {
    try statement(Text.wait).run(
      .integer(key), .integer(open), .optional(outcome.mediaType), .optional(outcome.sizeBytes),
      .optional(outcome.sha256), .text(outcome.metadata), .text(Step.said(steps)))
  }

  package func endWaiting(_ key: Int64) throws { try statement(Text.endWaiting).run(.integer(key)) }

  package func queuedChildren(of key: Int64) throws -> Int64 {
    try statement(Text.queuedChildren).first(.integer(key)) { $0.integer(0) } ?? 0
  }

  package func moveChildren(of key: Int64, to parent: Int64?) throws {
    try statement(Text.moveChildren).run(.integer(key), .optional(parent))
  }

  package func hasUnfinishedContents(_ key: Int64) throws -> Bool {
    try hasExpansions && statement(Text.hasUnfinished).first(.integer(key)) { _ in true } ?? false
  }

  package func contents(of key: Int64) throws -> [String] {
    guard hasExpansions else { return [] }
    var ids: [String] = []
    try statement(Text.contents).rows(.integer(key)) { ids.append($0.text(0)) }
    return ids
  }

  // MARK: Claims

  /// What a claim has to know beside the row: where it stands in a tree, and what was said of it before it waited for its children.
  func addExpansion(to attachment: inout LeasedAttachment) throws {
    guard hasExpansions else { return }
    (attachment.place, attachment.root) = try place(of: attachment.key)
    attachment.concluded = try concluded(attachment)
    if attachment.concluded != nil { return }
    // Its children come out of it again, and have room for that.
    let own = try statement(Text.own).first(.integer(attachment.key)) { ($0.integer(0), $0.integer(1)) }
    guard let own else { return }
    attachment.place.contents = max(attachment.place.contents - own.0, 0)
    attachment.place.bytes = max(attachment.place.bytes - own.1, 0)
  }

  private func concluded(_ attachment: LeasedAttachment) throws -> ConcludedExpansion? {
    let key = Statement.Value.integer(attachment.key)
    let isWaiting = try statement(Text.waiting).first(key) { _ in true } ?? false
    if !isWaiting { return nil }
    let (derived, children) = (try derived(of: attachment.key), try children(of: attachment.key))
    return try statement(Text.waiting).first(key) { row in
      ConcludedExpansion(
        mediaType: row.optionalText(0), sizeBytes: row.optionalInteger(1),
        sha256: row.isNull(2) ? nil : Hexadecimal.text(row.blob(2)),
        metadata: Metadatum.read(row.text(3)) ?? [],
        url: attachment.source.keptObject, derived: derived, steps: Step.read(said: row.text(4)) ?? [],
        children: children)
    }
  }

  private func children(of key: Int64) throws -> [Status: Int64] {
    var children: [Status: Int64] = [:]
    try statement(Text.children).rows(.integer(key)) { row in
      if let status = Status(rawValue: row.text(0)) { children[status] = row.integer(1) }
    }
    return children
  }

  /// It waits for its children, or they have ended and it has not.
  func isExpanded(_ key: Int64) throws -> Bool {
    try statement(Text.waiting).first(.integer(key)) { _ in true } ?? false
  }
}
