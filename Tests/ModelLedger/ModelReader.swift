import Ledger
import Pipeline
import Synchronization

package final class ModelReader: LedgerQueries {
  private let ledger: ModelLedger
  /// What a snapshot sees.
  private var moment: ModelRows?

  init(_ ledger: ModelLedger) {
    self.ledger = ledger
  }

  private var rows: ModelRows { moment ?? ledger.rows.withLock { $0 } }

  package func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    moment = rows
    defer { moment = nil }
    return try body()
  }

  package func status() throws(LedgerError) -> LedgerStatus {
    let (rows, now) = (rows, ledger.clock())
    var status = LedgerStatus()
    for name in Status.allCases {
      let (count, bytes) = rows.counts[name] ?? (0, 0)
      status.attachments.append((name, count, bytes))
    }
    for name in rows.lanes.keys.sorted(by: { $0.description < $1.description }) {
      let jobs = rows.jobs.values.filter { $0.lane == name }
      var lane = LedgerStatus.Lane(name)
      (lane.due, lane.leased) = (jobs.count(where: \.isDue), jobs.count { $0.token != nil })
      lane.scheduled = jobs.count - lane.due - lane.leased
      lane.nextDue = jobs.compactMap(\.dueAt).min().map { max($0 - now, 0) }
      lane.pause = rows.pauses(of: name).first
      if !jobs.isEmpty || lane.pause != nil { status.lanes.append(lane) }
    }
    status.deadLetters = Int64(rows.deliveries.count { $0.status == "dead" })
    status.oldestQueuedAt = rows.attachments.first { $0.job != nil }?.createdAt
    return status
  }

  // MARK: Attachments

  private func record(_ attachment: ModelRows.Attachment, _ key: Int64) -> AttachmentRecord {
    let last = attachment.attempts.keys.max().flatMap { attachment.attempts[$0] } ?? []
    return AttachmentRecord(
      key: key, attachment.origin, source: attachment.source.path, attachment.outcome,
      createdAt: attachment.createdAt, finishedAt: attachment.finishedAt, steps: last.map(\.step))
  }

  /// A page of rows by key; a mark is the last key.
  private func page<Row>(
    after mark: PageMark?, _ limit: Int, _ key: (Row) -> Int64, _ read: (Int64, ModelRows.Attachment) -> Row?
  ) -> Page<Row> {
    let (rows, after) = (rows, mark.flatMap { Int($0.text) } ?? 0)
    var found: [Row] = []
    for index in rows.attachments.indices.dropFirst(after) where found.count < limit {
      if let row = read(Int64(index) + 1, rows.attachments[index]) { found.append(row) }
    }
    return Page(found, next: found.count < limit ? nil : found.last.map { PageMark(String(key($0))) })
  }

  package func attachments(
    _ statuses: Set<Status>, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    page(after: mark, limit, \.key) { statuses.contains($1.outcome.status) ? self.record($1, $0) : nil }
  }

  package func attachments(idPrefix: String) throws(LedgerError) -> [AttachmentRecord] {
    let rows = rows
    let keys = rows.keysById.filter { $0.key.hasPrefix(idPrefix) }.sorted { $0.key < $1.key }.map(\.value)
    return keys.prefix(10).map { record(rows.attachments[Int($0) - 1], $0) }
  }

  package func attempts(of key: Int64) throws(LedgerError) -> [AttemptRecord] {
    guard let attempts = row(key)?.attempts else { return [] }
    return attempts.keys.sorted().flatMap { attempts[$0] ?? [] }
  }

  package func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord] {
    let rows = rows
    return (row(key)?.deliveries ?? []).map {
      let (delivery, lease) = (rows.deliveries[Int($0) - 1], rows.deliveries[Int($0) - 1].lease)
      return DeliveryRecord(
        id: lease.id, type: lease.type, channel: lease.channel, recipient: lease.recipient,
        status: delivery.status, reason: delivery.reason?.message, finishedAt: delivery.finishedAt)
    }
  }

  private func row(_ key: Int64) -> ModelRows.Attachment? {
    let attachments = rows.attachments
    return attachments.indices.contains(Int(key) - 1) ? attachments[Int(key) - 1] : nil
  }

  // MARK: Objects

  private func object(_ attachment: ModelRows.Attachment, _ key: Int64) -> StoredObject? {
    let outcome = attachment.outcome
    guard let url = outcome.url else { return nil }
    let original = Metadatum.read(outcome.metadata)?.first { $0.key == "original.sha256" }
    return StoredObject(
      key: key, id: attachment.origin.id, url: url, sizeBytes: outcome.sizeBytes ?? -1,
      sha256: outcome.sha256 ?? [], source: attachment.source.path, sourceSHA256: original?.value.text)
  }

  package func objects(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject> {
    page(after: mark, limit, \.key) { self.object($1, $0) }
  }

  package func object(ofAttachment id: String) throws(LedgerError) -> StoredObject? {
    let rows = rows
    return rows.keysById[id].flatMap { object(rows.attachments[Int($0) - 1], $0) }
  }

  package func hasObjects() throws(LedgerError) -> Bool { !rows.names.isEmpty }

  package func hasObject(at path: String, sha256: [UInt8]) throws(LedgerError) -> Bool {
    rows.attachments.contains { $0.outcome.url == path && $0.outcome.sha256 == sha256 }
  }

  package func otherHolders() -> Set<Int64> { Set(rows.holders.keys) }

  package func hasName(_ path: String) throws(LedgerError) -> Bool { rows.names[path] != nil }

  package func path(ofCompleted id: String) throws(LedgerError) -> String? {
    let outcome = rows.keysById[id].map { rows.attachments[Int($0) - 1].outcome }
    return outcome?.status == .completed ? outcome?.url : nil
  }

  // MARK: Changes

  package func position() throws(LedgerError) -> Position { rows.position }

  package func changes(since: Position, limit: Int) throws(LedgerError) -> ChangePage? {
    let rows = rows
    guard since.history == rows.history, 0...rows.position.number ~= since.number else { return nil }
    var page = ChangePage(changes: [], next: since, hasMore: false)
    while page.changes.count < limit, page.next != rows.position {
      page.changes += rows.changes[Int(page.next.number)]
      page.next.number += 1
    }
    page.hasMore = page.next != rows.position
    return page
  }
}
