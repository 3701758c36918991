import LedgerPort
import LedgerRules
import Pipeline
import Platform

/// The smallest engine: the rows of one transaction, in dictionaries. The rules decide.
struct ModelTransaction: LedgerRows {
  var rows: ModelRows
  let maker: ModelMaker
  /// Always true: the rules look for trees even if there are none.
  var hasExpansions: Bool {
    get { true }
    set {}
  }
  /// Always true, likewise.
  var hasConversations: Bool {
    get { true }
    set {}
  }
  /// Conversations with a deleted or a new link.
  var shrunk: Set<String> = []

  init(_ rows: ModelRows, _ maker: ModelMaker) { (self.rows, self.maker) = (rows, maker) }

  var hash: SHA256 { maker.hash }
  func nextId() -> String { maker.ids.next() }
  func turn(of owner: String) -> Int64 { TurnClaim.turn(of: owner, maker.hash) }

  // MARK: Jobs

  func job(_ key: JobKey) -> JobRow? { rows.jobs[key].map { $0.row } }

  mutating func addJob(_ job: NewJob) {
    var new = ModelRows.Job(key: job.key, lane: job.lane, priority: job.priority)
    (new.isWaiting, new.turn) = (job.isWaiting, job.turn)
    (new.attempts, new.uncounted) = (Int(job.earlier), Int(job.earlier))
    rows.jobs[job.key] = new
    if rows.lanes[job.lane] == nil { rows.lanes[job.lane] = [] }
  }

  mutating func setJob(_ key: JobKey, _ state: JobRow.State, uncounted: Int64, crashes: Int64) {
    guard var job = rows.jobs[key] else { return }
    (job.token, job.dueAt, job.isWaiting, job.isExpanded) = (nil, nil, false, false)
    switch state {
    case .due, .leased: break
    case .scheduled(let time): job.dueAt = time
    case .waiting: job.isWaiting = true
    case .expanded: job.isExpanded = true
    }
    job.uncounted += Int(uncounted)
    job.crashes += Int(crashes)
    rows.jobs[key] = job
  }

  mutating func setPriority(_ key: JobKey, _ priority: Int64) { rows.jobs[key]?.priority = priority }
  mutating func setCancellation(_ key: JobKey, _ reason: String?) { rows.jobs[key]?.cancellation = reason }
  mutating func removeJob(_ key: JobKey) { rows.jobs[key] = nil }

  mutating func endJob(_ key: JobKey, _ token: Token) -> Bool {
    guard rows.jobs[key]?.token == token else { return false }
    rows.jobs[key] = nil
    return true
  }

  // MARK: Deliveries

  mutating func addDelivery(
    _ delivery: LeasedDelivery, ofEvent event: Int64, priority: Int64, earlier: Int64, turn: Int64,
    _ tally: ExchangeTally
  ) {
    var delivery = delivery
    delivery.key = ModelRows.next(rows.deliveries.keys)
    rows.deliveries[delivery.key] = ModelRows.Delivery(lease: delivery)
    if let key = rows.keysById[delivery.attachmentId] {
      rows.attachments[key]?.deliveries.append(delivery.key)
    }
    addJob(
      NewJob(
        JobKey(.delivery, delivery.key), .channel(delivery.channel), priority: priority, dueAt: tally.time,
        earlier: earlier, turn: turn))
  }

  mutating func endDelivery(_ key: Int64, _ status: DeliveryStatus, _ reason: Reason?, at now: Int64) {
    guard var delivery = rows.deliveries[key] else { return }
    (delivery.status, delivery.reason, delivery.finishedAt) = (status, reason, now)
    rows.deliveries[key] = delivery
  }

  mutating func noteDelivery(_ key: Int64, _ reason: Reason) { rows.deliveries[key]?.reason = reason }

  mutating func reopenDelivery(_ key: Int64) {
    guard let delivery = rows.deliveries[key] else { return }
    rows.deliveries[key] = ModelRows.Delivery(lease: delivery.lease)
  }

  func fact(ofDelivery key: DeliveryDecision.Key, at time: Int64) -> DeliveryDecision.Fact? {
    guard let delivery = rows.deliveries[key.key], delivery.lease.id == key.id else { return nil }
    let dueAt = rows.jobs[JobKey(.delivery, key.key)]?.dueAt ?? .min
    return .init(delivery.status, isWaiting: dueAt > time, channel: delivery.lease.channel)
  }

  // MARK: Lanes and tokens

  func pauses(of lane: LaneName) -> [Pause]? { rows.lanes[lane].map { _ in rows.pauses(of: lane) } }

  mutating func setPause(_ lane: LaneName, _ pause: Pause, at now: Int64) {
    var pause = pause
    pause.since = now
    liftPause(lane, pause.cause)
    rows.lanes[lane]?.append(.init(pause: pause, host: rows.holders[maker.holder]?.host ?? ""))
  }

  mutating func liftPause(_ lane: LaneName, _ cause: Pause.Cause) {
    rows.lanes[lane]?.removeAll { $0.pause.cause == cause }
  }

  mutating func hastenAll(of lane: LaneName, at time: Int64) {
    for job in rows.jobs.values where job.lane == lane {
      if let dueAt = job.dueAt { rows.jobs[job.key]?.dueAt = min(dueAt, time) }
    }
  }

  func fact(ofToken id: String) -> TokenDecision.Fact? {
    rows.tokens.first { $0.token.id == id }.map { Self.fact($0.token) }
  }

  func facts(ofTokensOf user: ByteText) -> [String: TokenDecision.Fact] {
    let own = rows.tokens.map(\.token).filter { $0.role == .user && ByteText($0.name) == user }
    return Dictionary(uniqueKeysWithValues: own.map { ($0.id, Self.fact($0)) })
  }

  private static func fact(_ token: AccessToken) -> TokenDecision.Fact {
    .init(user: token.role == .user ? token.name : nil, isRevoked: token.revokedAt != nil)
  }

  mutating func addToken(_ token: AccessToken, hash: [UInt8]) { rows.tokens.append((hash, token)) }

  mutating func revokeToken(_ id: String, at now: Int64) {
    for index in rows.tokens.indices where rows.tokens[index].token.id == id {
      rows.tokens[index].token.revokedAt = now
    }
  }

  // MARK: Uploads

  func row(ofUpload id: String) -> UploadRecord? { rows.uploads[id] }

  func hasUpload(ofAttachment id: String) -> Bool {
    rows.uploads.values.contains { $0.attachmentId == id }
  }

  func openUploadCount(of owner: UploadOwner, at now: Int64) -> Int {
    rows.openUploads(of: owner, at: now).count
  }

  mutating func setUpload(_ upload: UploadRecord) { rows.uploads[upload.id] = upload }
  mutating func removeUpload(_ id: String) { rows.uploads[id] = nil }

  func openUploads(ofMessage id: String, in conversationId: String) -> [String] {
    rows.uploads.values.filter {
      $0.attachmentId == nil && $0.message == UploadRecord.Place(conversationId, id)
    }.map(\.id).sorted()
  }

  mutating func removeUploads(of owner: UploadOwner) -> [String] {
    let ids = rows.uploads.values.filter {
      let isOwn = ByteText($0.owner) == ByteText(owner.name) && $0.role == owner.role
      return $0.attachmentId == nil
        && (isOwn || $0.forUser.map(ByteText.init) == ByteText(owner.name) && owner.role == .user)
    }.map(\.id).sorted()
    for id in ids { rows.uploads[id] = nil }
    return ids
  }

  mutating func removeUploads(ofAttachment id: String) -> [String] {
    let ids = rows.uploads.values.filter { $0.attachmentId == id }.map(\.id).sorted()
    for id in ids { rows.uploads[id] = nil }
    return ids
  }
}

extension ModelRows {
  /// Runs a transaction.
  mutating func transact<Result>(
    _ maker: ModelMaker, _ body: (inout ModelTransaction) -> Result
  ) -> Result {
    var transaction = ModelTransaction(self, maker)
    // The transaction has the only reference to the rows, so that no dictionary is copied.
    self = ModelRows(history: history)
    defer { self = transaction.rows }
    return body(&transaction)
  }
}
