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

  /// Those of an attachment, by name.
  func derived(of key: Int64) throws -> [DerivedObject] {
    var objects: [DerivedObject] = []
    try statement(SQL.derivedOf).rows(.integer(key)) { row in
      objects.append(
        DerivedObject(
          name: row.text(0), stage: row.text(1), mediaType: row.text(2), sizeBytes: row.integer(3),
          sha256: row.blob(4), url: row.text(5)))
    }
    return objects
  }

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

  /// Whether all paths can be had: one is not, while the object there is to be deleted. What was not staged must be there.
  func canTakeNames(ofDerived attachment: EndedAttachment) throws -> Bool {
    try attachment.outcome.derived.allSatisfy { object in
      let uses = try statement(SQL.nameInUse).first(.text(object.url)) { $0.integer(0) }
      return uses.map { $0 > 0 } ?? attachment.stagedDerived.contains(object.name)
    }
  }

  /// Has those of an attachment that ends, in the place of what it had while it waited for its children.
  func replaceDerived(_ attachment: EndedAttachment, _ tally: inout ExchangeTally) throws {
    let isNone = attachment.outcome.derived.isEmpty
    if isNone && !hasExpansions { return }
    let before = hasExpansions ? try derived(of: attachment.key) : []
    if before == attachment.outcome.derived { return }
    try addDerived(attachment, in: before)
    for object in before where !attachment.outcome.derived.contains(object) {
      try giveUpName(object.url, &tally)
    }
  }

  func addDerived(_ attachment: EndedAttachment, in before: [DerivedObject] = []) throws {
    if !before.isEmpty { try statement(SQL.removeDerived).run(.integer(attachment.key)) }
    for object in attachment.outcome.derived {
      if !before.contains(object) {
        try statement(SQL.takeName).run(.text(object.url), .blob(object.sha256))
      }
      try statement(SQL.addDerived).run(
        .integer(attachment.key), .text(object.name), .text(object.stage), .text(object.mediaType),
        .integer(object.sizeBytes), .blob(object.sha256), .text(object.url))
    }
  }

  /// An attachment has none any more. Those that are no other's are to be deleted from the store.
  func giveUpDerived(of key: Int64, _ tally: inout ExchangeTally) throws {
    let objects = try derived(of: key)
    if objects.isEmpty { return }
    try statement(SQL.removeDerived).run(.integer(key))
    for object in objects { try giveUpName(object.url, &tally) }
  }
}

extension StoredObject {
  fileprivate init(derived row: borrowing Row) {
    self.init(
      key: row.integer(0), id: row.text(1), url: row.text(2), sizeBytes: row.integer(3), sha256: row.blob(4),
      source: row.blob(5), sourceSHA256: nil, derived: row.text(6))
  }
}
