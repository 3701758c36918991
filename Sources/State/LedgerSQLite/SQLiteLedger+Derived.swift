import LedgerPort
import Pipeline
import SQLite

// The objects beside the objects of attachments.
extension SQLiteLedger {
  public func derivedObjects(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject> {
    let after = mark.map { $0.text.split(separator: " ", maxSplits: 1) }
    return try reading {
      var rows: [StoredObject] = []
      try statement(Self.page).rows(
        .integer(after?.first.flatMap { Int64($0) } ?? .min), .text(after?.last.map(String.init) ?? ""),
        .integer(Int64(limit))
      ) { rows.append(StoredObject(derived: $0)) }
      let last = rows.last.map { PageMark("\($0.key) \($0.derived ?? "")") }
      return Page(rows, next: rows.count < limit ? nil : last)
    }
  }

  public func object(_ derived: String, besideAttachment id: String) throws(LedgerError) -> StoredObject? {
    try reading {
      try statement(Self.one).first(.text(id), .text(derived)) { StoredObject(derived: $0) }
    }
  }

  private static let columns = """
    SELECT d.attachment_key, a.id, d.url, d.size_bytes, d.sha256, a.source, d.name
    FROM derived d JOIN attachments a ON a.key = d.attachment_key
    """
  private static let page = SQLText(
    columns + " WHERE (d.attachment_key, d.name) > (?1, ?2) ORDER BY d.attachment_key, d.name LIMIT ?3")
  private static let one = SQLText(columns + " WHERE a.id = ?1 AND d.name = ?2")

  /// Whether any attachment has some.
  func hasDerived() throws -> Bool {
    try statement(SQL.hasDerived).first { $0.integer(0) == 1 } ?? false
  }

  /// Fills in those of some attachments. Where there are none at all, that is one question.
  func fillDerived(_ records: inout [AttachmentRecord]) throws {
    guard try hasDerived() else { return }
    for index in records.indices { try fillDerived(&records[index]) }
  }

  /// What an attachment has that waits for its children counts once it is completed.
  func fillDerived(_ record: inout AttachmentRecord) throws {
    if record.outcome.status == .completed { record.outcome.derived = try derived(of: record.key) }
  }
}

extension StoredObject {
  fileprivate init(derived row: borrowing Row) {
    self.init(
      key: row.integer(0), id: row.text(1), url: row.text(2), sizeBytes: row.integer(3), sha256: row.blob(4),
      source: row.blob(5), sourceSHA256: nil, derived: row.text(6))
  }
}
