import ModelLedger
import Pipeline
import SQLite

/// What is on record, as the rules judge it: read from the tables of SQLite, or from the model's rows.
struct LedgerImage {
  struct Attachment {
    var id: String
    var fileName: String
    var status: String
    var stage, code, url: String?
    /// In hexadecimal digits.
    var sha256: String
    var deliveries, types: Int
    /// Those of its job that were begun; 0: it has none.
    var attempts: Int
    /// The path of the object of an earlier attempt.
    var kept: String?
    /// The id of what it was taken out of.
    var parent: String?
    var message: String
    /// The path of its content's file.
    var source: String
    var metadata: String
    var derived: [Derived] = []
  }

  struct Derived {
    var name, url: String
    /// In hexadecimal digits.
    var sha256: String
  }

  var attachments: [Attachment] = []
  var deliveries: [(id: String, status: String)] = []
  /// Those that are aside are fetched once somebody asks.
  var jobs: [(isOfAttachment: Bool, isScheduled: Bool, isAside: Bool)] = []
  var tombstones: Set<String> = []
  var objectsToDelete: [String] = []
  /// What is wrong with the file.
  var damage: String?

  init(_ connection: Connection) throws {
    try connection.prepare(
      """
      SELECT a.id, file_name, status, reason_stage, reason_code, url, lower(hex(sha256)),
        (SELECT count(*) FROM deliveries d JOIN events e ON e.key = d.event_key WHERE e.attachment_key = a.key),
        (SELECT count(DISTINCT type) FROM events e WHERE e.attachment_key = a.key),
        (SELECT attempts FROM jobs WHERE kind = 'attachment' AND subject = a.key), kept,
        (SELECT p.id FROM attachments p WHERE p.key = a.parent), message_id, CAST(source AS TEXT), metadata
      FROM attachments a ORDER BY a.key
      """
    ).rows { row in
      attachments.append(
        Attachment(
          id: row.text(0), fileName: row.text(1), status: row.text(2), stage: row.optionalText(3),
          code: row.optionalText(4), url: row.optionalText(5), sha256: row.text(6),
          deliveries: Int(row.integer(7)), types: Int(row.integer(8)), attempts: Int(row.integer(9)),
          kept: row.optionalText(10), parent: row.optionalText(11), message: row.text(12),
          source: row.text(13),
          metadata: row.text(14)))
    }
    var derived: [String: [Derived]] = [:]
    try connection.prepare(
      "SELECT a.id, d.name, d.url, lower(hex(d.sha256)) FROM derived d JOIN attachments a ON a.key = d.attachment_key"
    ).rows {
      derived[$0.text(0), default: []].append(Derived(name: $0.text(1), url: $0.text(2), sha256: $0.text(3)))
    }
    for index in attachments.indices { attachments[index].derived = derived[attachments[index].id] ?? [] }
    try connection.prepare("SELECT id, status FROM deliveries").rows {
      deliveries.append(($0.text(0), $0.text(1)))
    }
    try connection.prepare(
      """
      SELECT kind = 'attachment', state = 'scheduled', state = 'waiting' AND (kind = 'transfer' OR EXISTS (
        SELECT 1 FROM links l JOIN jobs t ON t.kind = 'transfer' AND t.subject = l.transfer_key AND t.state = 'waiting'
        WHERE l.attachment_key = q.subject))
      FROM jobs q
      """
    ).rows {
      jobs.append(($0.integer(0) == 1, $0.integer(1) == 1, $0.integer(2) == 1))
    }
    try connection.prepare("SELECT id FROM tombstones").rows { tombstones.insert($0.text(0)) }
    try connection.prepare("SELECT path FROM names WHERE uses = 0").rows {
      objectsToDelete.append($0.text(0))
    }
    let report = try connection.prepare("PRAGMA integrity_check").first { $0.text(0) }
    if report != "ok" { damage = report ?? "" }
  }

  init(_ model: ModelLedger) throws {
    let reader = model.reader()
    try reader.attachments { record in
      let deliveries = try reader.deliveries(of: record.key)
      attachments.append(
        Attachment(
          id: record.origin.id, fileName: record.origin.fileName,
          status: record.outcome.status.rawValue, stage: record.outcome.reason?.stage,
          code: record.outcome.reason?.code, url: record.outcome.url,
          sha256: record.outcome.sha256.map(Self.hexadecimal) ?? "", deliveries: deliveries.count,
          types: Set(deliveries.map(\.type)).count, attempts: model.attempts(ofJobFor: record.key),
          kept: record.keptObject, parent: record.origin.parentId, message: record.origin.messageId,
          source: String(decoding: record.source, as: UTF8.self), metadata: record.outcome.metadata,
          derived: record.outcome.derived.map {
            Derived(name: $0.name, url: $0.url, sha256: Self.hexadecimal($0.sha256))
          }))
      self.deliveries += deliveries.map { ($0.id, $0.status.rawValue) }
      return true
    }
    jobs = model.jobs
    tombstones = model.deleted
    objectsToDelete = try reader.objectsToDelete(limit: .max)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
