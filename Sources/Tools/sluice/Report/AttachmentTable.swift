import LedgerPort
import Pipeline
import Platform

/// Attachments as CSV (RFC 4180): a row for each, with its metadata as columns.
struct AttachmentTable {
  private let ledger: any LedgerQueries
  private let filter: AttachmentFilter
  private let limit: Int?
  private let lineage: Lineage

  init(_ ledger: any LedgerQueries, _ filter: AttachmentFilter, limit: Int?) {
    (self.ledger, self.filter, self.limit) = (ledger, filter, limit)
    lineage = Lineage { ledger }
  }

  private static let columns = [
    "id", "status", "mediaType", "sizeBytes", "sha256", "url", "reasonStage", "reasonCode", "reasonMessage",
    "conversationId", "messageId", "senderId", "fileName", "declaredType", "reference", "source", "createdAt",
    "finishedAt", "parentId", "way",
  ]
  /// Bytes that are handed on at once, and attachments that are read at once.
  private static let piece = 64 << 10
  private static let page = 1000

  /// Reads each attachment once. The head of the table comes first: the keys in it are found before, by a look at the metadata
  /// alone, which takes a tenth of the time.
  func write(_ body: (String) throws -> Void) throws {
    var metadata = MetadataColumns()
    try rows(ledger.metadata) { text in
      metadata.note(text)
      return !metadata.isFull
    }
    var csv = CSV()
    for name in Self.columns + metadata.finish() { csv.add(name) }
    csv.endLine()
    try rows(ledger.records) { record in
      add(record, to: &csv)
      metadata.add(record.outcome.metadata, to: &csv)
      csv.endLine()
      if csv.bytes.count > Self.piece {
        try body(String(decoding: csv.bytes, as: UTF8.self))
        csv.clear()
      }
      return true
    }
    try body(String(decoding: csv.bytes, as: UTF8.self))
  }

  /// Passes what a query gives to a body, until that returns false.
  private func rows<Row>(
    _ query: (AttachmentFilter, PageMark?, Int) throws -> Page<Row>, _ body: (Row) throws -> Bool
  ) throws {
    var left = limit ?? .max
    var mark: PageMark?
    repeat {
      let page = try query(filter, mark, min(Self.page, left))
      for row in page.rows where try !body(row) { return }
      left -= page.rows.count
      mark = page.next
    } while mark != nil && left > 0
  }

  private func add(_ record: AttachmentRecord, to csv: inout CSV) {
    let (origin, outcome) = (record.origin, record.outcome)
    csv.add(origin.id)
    csv.add(outcome.status.rawValue)
    csv.add(outcome.mediaType)
    csv.add(number: outcome.sizeBytes.map(String.init))
    for text in [
      outcome.sha256.map(Hexadecimal.text), outcome.url, outcome.reason?.stage, outcome.reason?.code,
      outcome.reason?.message, origin.conversationId, origin.messageId, origin.senderId, origin.fileName,
      origin.declaredType, origin.reference,
    ] { csv.add(text) }
    csv.add(record.sourceName)
    csv.add(Clock.timestamp(record.createdAt))
    csv.add(record.finishedAt.map(Clock.timestamp))
    csv.add(origin.parentId)
    csv.add(lineage.way(to: record))
  }
}
