import LedgerPort
import Pipeline
import Platform
import Synchronization

package final class ModelReader: LedgerQueries {
  private let ledger: ModelLedger
  /// What a snapshot sees.
  private var moment: ModelRows?
  private var lastGeneration: Int64 = 0

  init(_ ledger: ModelLedger) {
    self.ledger = ledger
  }

  var rows: ModelRows { moment ?? ledger.rows.withLock { $0 } }

  package func transfers(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<TransferRecord> {
    let (rows, now) = (rows, ledger.clock())
    return try page(rows.transfers.keys.sorted(), after: mark, limit, >, { rows.record($0, now) })
  }

  package func transfer(ofAttachment key: Int64) throws(LedgerError) -> TransferRecord? {
    rows.attachments[key]?.transfer.flatMap { rows.record($0, ledger.clock()) }
  }

  package func transfer(_ key: Int64) throws(LedgerError) -> TransferRecord? {
    rows.transfers[key].flatMap { _ in rows.record(key, ledger.clock()) }
  }

  package func sharers(ofTransfer key: Int64, limit: Int) throws(LedgerError) -> [TransferSharer] {
    let keys = rows.transfers[key]?.attachments.sorted() ?? []
    let waiting = keys.compactMap { rows.attachments[$0] }.filter { $0.outcome.status == .queued }
    return waiting.prefix(limit).map {
      TransferSharer(attachmentId: $0.origin.id, users: [$0.origin.senderId] + rows.readers(of: $0))
    }
  }

  package func transfersWithFiles() throws(LedgerError) -> Set<Int64> { rows.transfersWithFiles }

  package func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    moment = rows
    defer { moment = nil }
    return try body()
  }

  /// It never says that nothing has changed.
  package func generation() throws(LedgerError) -> Int64 {
    lastGeneration += 1
    return lastGeneration
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
      lane.scheduled = jobs.count { $0.dueAt != nil }
      if name == .downloads { lane.notPrefetched = jobs.count(where: \.isWaiting) }
      lane.nextDue = jobs.compactMap(\.dueAt).min().map { max($0 - now, 0) }
      lane.pause = rows.pauses(of: name).first
      if lane.jobs > 0 || lane.pause != nil { status.lanes.append(lane) }
    }
    status.deadLetters = Int64(rows.deliveries.count { $0.value.status == .dead })
    status.failedDownloads = Int64(rows.transfers.count { $0.value.isFinished && $0.value.reason != nil })
    status.oldestQueuedAt =
      rows.attachments.filter { rows.jobs[JobKey(.attachment, $0.key)] != nil }.min { $0.key < $1.key }?.value
      .createdAt
    return status
  }

  // MARK: Access

  package func token(hash: [UInt8]) throws(LedgerError) -> AccessToken? {
    rows.tokens.first { $0.hash == hash }.map { rows.seen($0.token) }
  }

  package func tokens() throws(LedgerError) -> [AccessToken] {
    rows.tokens.map(\.token).filter { $0.device == nil }.map(rows.seen).sorted {
      ($0.createdAt, $0.id) < ($1.createdAt, $1.id)
    }
  }

  package func upload(_ id: String) throws(LedgerError) -> UploadRecord? { rows.uploads[id] }

  package func openUploads(of owner: UploadOwner?, at now: Int64) throws(LedgerError) -> Int {
    rows.openUploads(of: owner, at: now).count
  }

  package func openUploads(
    of owner: UploadOwner?, at now: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<UploadRecord> {
    let found = rows.openUploads(of: nil, at: now).filter { upload in
      guard let owner else { return upload.id > mark?.text ?? "" }
      let isOwn = upload.owner == owner.name && upload.role == owner.role
      return (isOwn || upload.forUser == owner.name && owner.role == .user) && upload.id > mark?.text ?? ""
    }
    .sorted { $0.id < $1.id }.prefix(max(limit, 0))
    return Page(Array(found), next: found.count < limit ? nil : found.last.map { PageMark($0.id) })
  }

  package func uploads(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<UploadRecord> {
    let rows = rows
    let ids = rows.uploads.keys.filter { $0 > mark?.text ?? "" }.sorted().prefix(max(limit, 0))
    let found = ids.compactMap { rows.uploads[$0] }
    return Page(found, next: found.count < limit ? nil : ids.last.map { PageMark($0) })
  }

  package func participants(of key: Int64) throws(LedgerError) -> [String] {
    rows.attachments[key].map { rows.readers(of: $0) } ?? []
  }

  package func message(_ id: String, of conversation: String) throws(LedgerError) -> MessageRecord? {
    rows.messages[ModelRows.MessageName(conversation: conversation, message: id)].map {
      $0.record
    }
  }

  // MARK: Attachments

  func record(_ attachment: ModelRows.Attachment, _ key: Int64) -> AttachmentRecord {
    let last = attachment.attempts.keys.max().flatMap { attachment.attempts[$0] } ?? []
    var outcome = attachment.outcome
    // What it has while it waits for its children counts once it is completed.
    if outcome.status != .completed { outcome.derived = [] }
    return AttachmentRecord(
      key: key, attachment.origin, source: attachment.source.path, outcome,
      createdAt: attachment.createdAt, finishedAt: attachment.finishedAt, steps: last.map(\.step),
      keptObject: attachment.kept)
  }

  /// A page of what answers, of what comes after a place in an order.
  func page<Place: LosslessStringConvertible, Row>(
    _ places: [Place], after mark: PageMark?, _ limit: Int, _ isAfter: (Place, Place) -> Bool,
    _ read: (Place) -> Row?
  ) throws(LedgerError) -> Page<Row> {
    let last = mark.flatMap { Place($0.text) }
    if mark != nil && last == nil { throw LedgerError(.other, "'\(mark?.text ?? "")' is no mark of a page") }
    var page = Page<Row>([], next: nil)
    if limit <= 0 { return page }
    var reached: Place?
    for place in places where last.map({ isAfter(place, $0) }) ?? true {
      if page.rows.count == limit {
        page.next = reached.map { PageMark($0.description) }
        break
      }
      reached = place
      if let row = read(place) { page.rows.append(row) }
    }
    return page
  }

  private func select<Row>(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int,
    _ make: (ModelRows.Attachment, Int64) -> Row
  ) throws(LedgerError) -> Page<Row> {
    let rows = rows
    return try page(
      filter.isNewestFirst ? rows.places.reversed() : rows.places, after: mark, limit,
      filter.isNewestFirst ? (<) : (>),
      { place in
        rows.attachments[place.key].flatMap { filter.matches($0, rows) ? make($0, place.key) : nil }
      })
  }

  package func attachments(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    try select(filter, after: mark, limit: limit) { self.record($0, $1) }
  }

  package func records(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    try select(filter, after: mark, limit: limit) {
      var record = self.record($0, $1)
      record.steps = []
      return record
    }
  }

  package func metadata(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<String> {
    try select(filter, after: mark, limit: limit) { attachment, _ in attachment.outcome.metadata }
  }

  package func matches(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentMatch> {
    try select(filter, after: mark, limit: limit) { attachment, _ in
      AttachmentMatch(
        id: attachment.origin.id, status: attachment.outcome.status,
        sizeBytes: attachment.outcome.sizeBytes ?? 0)
    }
  }

  package func survey(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<SurveyedAttachment> {
    try select(filter, after: mark, limit: limit) { attachment, _ in
      let outcome = attachment.outcome
      let attempts = attachment.attempts.keys.sorted().flatMap { attachment.attempts[$0] ?? [] }
      return SurveyedAttachment(
        id: attachment.origin.id, status: outcome.status, mediaType: outcome.mediaType,
        sizeBytes: outcome.sizeBytes,
        object: outcome.url.flatMap { _ in outcome.sha256.flatMap(SurveyedAttachment.object) },
        reason: outcome.reason.map { .init(stage: $0.stage, code: $0.code) },
        createdAt: attachment.createdAt, finishedAt: attachment.finishedAt,
        times: attempts.map { .init(stage: $0.step.stage, microseconds: $0.step.microseconds) })
    }
  }

  package func attachments(idPrefix: String) throws(LedgerError) -> [AttachmentRecord] {
    let rows = rows
    let keys = rows.keysById.filter { $0.key.hasPrefix(idPrefix) }.sorted { $0.key < $1.key }.map(\.value)
    return keys.prefix(10).compactMap { key in rows.attachments[key].map { record($0, key) } }
  }

  package func place(of key: Int64) throws(LedgerError) -> QueuePlace? {
    let (rows, now) = (rows, ledger.clock())
    guard let job = rows.jobs[JobKey(.attachment, key)] else { return nil }
    return QueuePlace(
      state: job.isExpanded
        ? .expanded
        : job.isWaiting ? .waiting : job.token != nil ? .leased : job.dueAt != nil ? .scheduled : .due,
      nextDue: max((job.dueAt ?? now) - now, 0), priority: job.priority, attempts: job.attempts,
      cancellation: job.cancellation)
  }

  package func tombstones(idPrefix: String) throws(LedgerError) -> [Tombstone] {
    Array(rows.tombstones.filter { $0.id.hasPrefix(idPrefix) }.sorted { $0.id < $1.id }.prefix(10))
  }

  package func tombstoneCount() throws(LedgerError) -> Int { rows.tombstones.count }

  package func attempts(of key: Int64) throws(LedgerError) -> [AttemptRecord] {
    guard let attempts = rows.attachments[key]?.attempts else { return [] }
    return attempts.keys.sorted().flatMap { attempts[$0] ?? [] }
  }

  // MARK: Deliveries

  private func record(_ delivery: ModelRows.Delivery, _ rows: ModelRows, _ now: Int64) -> DeliveryRecord {
    let (lease, job) = (delivery.lease, rows.jobs[JobKey(.delivery, delivery.lease.key)])
    return DeliveryRecord(
      key: lease.key, id: lease.id, attachmentId: lease.attachmentId, type: lease.type,
      channel: lease.channel, recipient: lease.recipient, status: delivery.status,
      code: delivery.reason?.code, reason: delivery.reason?.message, finishedAt: delivery.finishedAt,
      attempts: job?.attempts ?? 0,
      nextDue: delivery.status == .pending ? max((job?.dueAt ?? now) - now, 0) : nil)
  }

  package func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord] {
    let (rows, now) = (rows, ledger.clock())
    return (rows.attachments[key]?.deliveries ?? []).compactMap { key in
      rows.deliveries[key].map { record($0, rows, now) }
    }
  }

  package func deliveries(
    _ filter: DeliveryFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<DeliveryRecord> {
    let (rows, now) = (rows, ledger.clock())
    return try page(
      rows.deliveries.keys.sorted(), after: mark, limit, >,
      { key in
        rows.deliveries[key].map { record($0, rows, now) }.flatMap { filter.matches($0) ? $0 : nil }
      })
  }

  // MARK: Objects

  private func object(_ attachment: ModelRows.Attachment, _ key: Int64) -> StoredObject? {
    let outcome = attachment.outcome
    if outcome.url == nil, let kept = attachment.kept {
      return StoredObject(
        key: key, id: attachment.origin.id, url: kept, sizeBytes: -1, sha256: rows.names[kept]?.sha256 ?? [],
        source: attachment.source.path, sourceSHA256: nil, isKept: true)
    }
    guard let url = outcome.url else { return nil }
    let original = Metadatum.read(outcome.metadata)?.first { $0.key == "original.sha256" }
    return StoredObject(
      key: key, id: attachment.origin.id, url: url, sizeBytes: outcome.sizeBytes ?? -1,
      sha256: outcome.sha256 ?? [], source: attachment.source.path, sourceSHA256: original?.value.text)
  }

  package func objects(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject> {
    let rows = rows
    return try page(
      rows.attachments.keys.sorted(), after: mark, limit, >,
      { key in rows.attachments[key].flatMap { self.object($0, key) } })
  }

  package func object(ofAttachment id: String) throws(LedgerError) -> StoredObject? {
    let rows = rows
    return rows.keysById[id].flatMap { key in rows.attachments[key].flatMap { object($0, key) } }
  }

  package func derivedObjects(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject> {
    let rows = rows
    let all = rows.attachments.keys.sorted().flatMap { key -> [StoredObject] in
      guard let attachment = rows.attachments[key] else { return [] }
      return attachment.outcome.derived.map { self.object($0, attachment, key) }
    }
    let start = mark.flatMap { Int($0.text) } ?? 0
    let page = Array(all.dropFirst(start).prefix(max(limit, 0)))
    return Page(page, next: page.count < limit ? nil : PageMark(String(start + page.count)))
  }

  package func object(
    _ derived: String, besideAttachment id: String
  ) throws(LedgerError) -> StoredObject? {
    let rows = rows
    guard let key = rows.keysById[id], let attachment = rows.attachments[key] else { return nil }
    return attachment.outcome.derived.first { $0.name == derived }.map { object($0, attachment, key) }
  }

  private func object(
    _ derived: DerivedObject, _ attachment: ModelRows.Attachment, _ key: Int64
  ) -> StoredObject {
    StoredObject(
      key: key, id: attachment.origin.id, url: derived.url, sizeBytes: derived.sizeBytes,
      sha256: derived.sha256,
      source: attachment.source.path, sourceSHA256: nil, derived: derived.name)
  }

  package func hasObjects() throws(LedgerError) -> Bool { rows.names.values.contains { $0.uses > 0 } }

  package func hasObject(at path: String, sha256: [UInt8]) throws(LedgerError) -> Bool {
    rows.attachments.values.contains { attachment in
      attachment.outcome.url == path && attachment.outcome.sha256 == sha256
        || attachment.outcome.derived.contains { $0.url == path && $0.sha256 == sha256 }
    }
  }

  package func paths(ofContent sha256: [UInt8]) throws(LedgerError) -> [String] {
    let rows = rows
    let found = rows.attachments.values.flatMap { attachment in
      [
        attachment.outcome.sha256 == sha256 ? attachment.outcome.url : nil,
        attachment.kept.flatMap { rows.names[$0]?.sha256 == sha256 ? $0 : nil },
      ].compactMap(\.self) + attachment.outcome.derived.filter { $0.sha256 == sha256 }.map(\.url)
    }
    return Set(found).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  package func otherHolders() -> Set<Int64> { Set(rows.holders.keys) }

  package func hasName(_ path: String) throws(LedgerError) -> Bool { rows.names[path] != nil }

  package func objectsToDelete(limit: Int) throws(LedgerError) -> [String] {
    Array(rows.objectsToDelete.prefix(max(limit, 0)))
  }

  package func path(ofCompleted id: String) throws(LedgerError) -> String? {
    let rows = rows
    let outcome = rows.keysById[id].flatMap { rows.attachments[$0]?.outcome }
    return outcome?.status == .completed ? outcome?.url : nil
  }

  // MARK: Changes

  package func position() throws(LedgerError) -> Position { rows.position }

  package func changes(since: Position, limit: Int) throws(LedgerError) -> ChangePage? {
    let rows = rows
    guard since.history == rows.history, 0...rows.position.number ~= since.number else { return nil }
    var page = ChangePage(changes: [], next: since, hasMore: false)
    while page.changes.count < limit, page.next != rows.position {
      page.changes += rows.changes[Int(page.next.number)].compactMap(rows.change)
      page.next.number += 1
    }
    page.hasMore = page.next != rows.position
    return page
  }

  package func deliveries(changedAt position: Position) throws(LedgerError) -> [DeliveryRecord] {
    let (rows, now) = (rows, ledger.clock())
    guard position.history == rows.history, 1...rows.position.number ~= position.number else { return [] }
    return rows.changes[Int(position.number) - 1].compactMap { subject in
      guard case .delivery(let key) = subject else { return nil }
      return rows.deliveries[key].map { record($0, rows, now) }
    }
  }
}
