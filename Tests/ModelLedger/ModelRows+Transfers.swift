import LedgerPort
import LedgerRules
import Pipeline
import Platform

// Transfers: who waits for what, and what becomes of it.
extension ModelRows {
  struct Transfer {
    var identity: [UInt8]
    var link: Link
    var host: Int64
    /// The user whose link it is.
    var sender: Int64
    var state = TransferState()
    var restarts = 0
    var isFinished = false
    /// What came: its size and its SHA-256.
    var fetched: FetchedContent?
    var isRejected = false
    /// Of the last try.
    var reason: Reason?
    var job: JobKey?
    /// Those that have its link.
    var attachments: Set<Int64> = []

    /// It has ended since its link was not taken any more.
    var isExpired: Bool { isFinished && fetched == nil && reason?.code == TransferRun.expired }
  }

  // MARK: Who waits

  static func identity(of link: Link, _ hash: SHA256) -> [UInt8] {
    var link = link
    (link.declaredType, link.expiresAt) = (nil, nil)
    var values = HashedValues()
    values.add(String(describing: link))
    return hash.digest(of: values)
  }

  mutating func transfer(for link: Link, identity: [UInt8]) -> Int64 {
    if let known = transfers.first(where: { $0.value.identity == identity }) { return known.key }
    let key = Self.next(transfers.keys)
    let host = (try? PlainSealer().host(of: link)) ?? 0
    let sender = (try? PlainSealer().sender(of: link)) ?? 0
    transfers[key] = Transfer(identity: identity, link: link, host: host, sender: sender)
    return key
  }

  /// The job of an attachment with a link: it waits, unless the content is here already.
  mutating func addLinkedJob(
    _ attachment: Int64, _ transfer: Int64, priority: Int64, attempts: Int = 0, _ tally: inout ModelTally
  ) -> JobKey {
    let job = addJob(
      JobKey(.attachment, attachment), .attachments, priority: priority, attempts: attempts,
      sender: attachments[attachment]?.origin.senderId)
    if let content = transfers[transfer]?.fetched {
      name(attachment, as: content)
      tally.touch(.attachments)
    } else {
      jobs[job]?.isWaiting = true
      queueTransfer(transfer, priority: priority)
      tellPriority(of: transfer, &tally)
      tally.touch(.downloads)
    }
    return job
  }

  /// One without a name gets the server's.
  private mutating func name(_ attachment: Int64, as content: FetchedContent) {
    guard let name = content.fileName, let origin = attachments[attachment]?.origin,
      origin.fileName == IntakeItem.unnamed
    else { return }
    attachments[attachment]?.origin = origin.replacing(fileName: name)
  }

  /// A transfer is due. One that is queued already may only become more urgent.
  mutating func queueTransfer(_ key: Int64, priority: Int64) {
    if transfers[key]?.isFinished == true {
      if transfers[key]?.fetched != nil { transfers[key]?.state.bytes = 0 }
      transfers[key]?.isFinished = false
      transfers[key]?.fetched = nil
      transfers[key]?.isRejected = false
      transfers[key]?.reason = nil
      transfers[key]?.restarts = 0
    }
    if let job = transfers[key]?.job {
      let before = jobs[job]?.priority ?? priority
      jobs[job]?.priority = max(before, priority)
      jobs[job]?.isWaiting = false
    } else {
      let job = addJob(JobKey(.transfer, key), .downloads, priority: priority)
      transfers[key]?.job = job
    }
  }

  /// An attachment that was cancelled and then wanted after all waits again.
  mutating func waitForTransfer(_ job: Job, _ transfer: Int64) {
    jobs[job.key]?.isWaiting = true
    queueTransfer(transfer, priority: job.priority)
  }

  /// The attachments of a transfer, in order.
  func attachments(of transfer: Int64) -> [Int64] { transfers[transfer]?.attachments.sorted() ?? [] }

  mutating func leave(_ transfer: Int64, _ tally: inout ModelTally) {
    switch leave(transfer) {
    case .keepsFile: break
    case .isUnwanted: tally.unwanted.append(transfer)
    case .dropsFile: tally.filesToDelete.append(transfer)
    }
  }

  enum Left { case keepsFile, isUnwanted, dropsFile }

  /// What of a transfer nobody needs goes.
  @discardableResult
  mutating func leave(_ key: Int64) -> Left {
    let keys = attachments(of: key)
    let queued = keys.compactMap { attachments[$0]?.job.flatMap { jobs[$0] } }
    if queued.contains(where: \.isWaiting) { return .keepsFile }
    if let job = transfers[key]?.job {
      if jobs[job]?.token != nil { return .isUnwanted }
      jobs[job] = nil
      transfers[key]?.job = nil
    }
    if !queued.isEmpty { return .keepsFile }
    // What came is there for a new link.
    if transfers[key]?.isExpired == true && !keys.isEmpty { return .keepsFile }
    transfers[key]?.state = TransferState()
    if keys.isEmpty { transfers[key] = nil }
    return .dropsFile
  }

  /// Those that wait for a transfer are due.
  private mutating func wakeWaiting(for transfer: Int64, _ tally: inout ModelTally) {
    let keys = attachments(of: transfer)
    for job in keys.compactMap({ attachments[$0]?.job }) { jobs[job]?.isWaiting = false }
    tally.touch(.attachments)
    tally.changed += keys.prefix(1000).map { .attachment($0) }
  }

  private func tellPriority(of transfer: Int64, _ tally: inout ModelTally) {
    guard let job = transfers[transfer]?.job.flatMap({ jobs[$0] }), job.token != nil else { return }
    tally.priorities.append(TransferPriority(key: transfer, priority: job.priority))
  }

  /// A transfer is as urgent as the most urgent that waits for it.
  mutating func prioritize(_ transfer: Int64, _ tally: inout ModelTally) {
    tally.touch(.downloads)
    guard let job = transfers[transfer]?.job else { return }
    defer { tellPriority(of: transfer, &tally) }
    let waiting = attachments(of: transfer).compactMap { attachments[$0]?.job.flatMap { jobs[$0] } }
      .filter(\.isWaiting)
    if let most = waiting.map(\.priority).max() {
      jobs[job]?.priority = most
      jobs[job]?.isWaiting = false
      if most >= TransferPriority.urgent { hasten(job, tally.now) }
    }
  }

  // MARK: Results

  mutating func settle(
    _ job: Job, transfer ending: Settlement.Ending, _ tally: inout ModelTally
  ) -> SettlementOutcome {
    // What became of an old link says nothing of the new one, unless all is here.
    if job.key.kind == .transfer, case let key = job.key.subject, job.cancellation != nil {
      if case .fetched = ending {
      } else {
        giveBack(job.key)
        leave(key, &tally)
        return .conflict
      }
    }
    switch ending {
    case .fetched(let key, let content):
      endJob(of: key)
      transfers[key]?.fetched = content
      transfers[key]?.state.bytes = content.size
      transfers[key]?.state.total = content.size
      for key in attachments(of: key) where attachments[key]?.job.flatMap({ jobs[$0] })?.isWaiting == true {
        name(key, as: content)
      }
      transfers[key]?.reason = nil
      wakeWaiting(for: key, &tally)
      leave(key, &tally)
    case .notFetched(let key, let reason, let isRejected):
      endJob(of: key)
      transfers[key]?.reason = reason
      transfers[key]?.isRejected = isRejected
      wakeWaiting(for: key, &tally)
      leave(key, &tally)
    case .transferAgain(let key, let after, let isCounted, let state, let reason):
      schedule(job, tally.now + min(after, 1 << 50), tally.now)
      if !isCounted { jobs[job.key]?.uncounted += 1 }
      transfers[key]?.state = state
      transfers[key]?.reason = reason
      leave(key, &tally)
    case .transferRestarts(let key, let reason):
      schedule(job, tally.now, tally.now)
      transfers[key]?.state = TransferState()
      transfers[key]?.restarts += 1
      transfers[key]?.reason = reason
      leave(key, &tally)
    case .fetchAgain(_, let transfer):
      giveBack(job.key)
      // One that a person does not want any more waits for nothing.
      guard job.cancellation == nil else { break }
      waitForTransfer(job, transfer)
      tally.touch(.downloads)
    default: return .leaseLost
    }
    return .counted
  }

  private mutating func endJob(of key: Int64) {
    if let job = transfers[key]?.job { jobs[job] = nil }
    transfers[key]?.job = nil
    transfers[key]?.isFinished = true
  }

  mutating func take(_ checkpoint: TransferCheckpoint) {
    if jobs[checkpoint.job]?.token == checkpoint.token && jobs[checkpoint.job]?.cancellation == nil {
      transfers[checkpoint.key]?.state = checkpoint.state
    }
  }

  // MARK: Leases

  /// Which of the due transfers, in their order, a coordinator gets.
  mutating func choose(_ want: Want, _ holder: Int64) -> [Job] {
    var claim = TransferClaim(want)
    for job in jobs.values where job.token != nil {
      if let transfer = transfer(of: job) { claim.hasInHand(host: transfer.host, sender: transfer.sender) }
    }
    follow(want.prefetch, holder)
    var queue = ModelTransferQueue(rows: self, prefetch: want.prefetch)
    var turns = turns[holder] ?? TransferTurns()
    // The queue of the model throws nothing.
    let chosen = (try? claim.choose(from: &queue, &turns)) ?? []
    self = queue.rows
    self.turns[holder] = turns
    return chosen.compactMap { jobs[JobKey(.transfer, $0)] }
  }

  func leased(_ key: Int64) -> LeasedWork? {
    transfers[key].map {
      .transfer(
        LeasedTransfer(
          key: key, link: $0.link, state: $0.state, host: $0.host, restarts: $0.restarts,
          fileName: attachments(of: key).first.flatMap { attachments[$0]?.origin.fileName } ?? "",
          attachmentId: attachments(of: key).first.flatMap { attachments[$0]?.origin.id } ?? ""))
    }
  }

  /// What became of the link of an attachment; `nil`: nothing has yet.
  func fetched(_ key: Int64) -> Fetched? {
    guard let transfer = transfers[key], transfer.isFinished else { return nil }
    guard let content = transfer.fetched else {
      return .failed(notFetched(transfer.reason), isRejected: transfer.isRejected)
    }
    let object = stored(sha256: content.sha256, size: content.size).first
    return .here(object: object?.outcome.url, sha256: content.sha256)
  }

  func notFetched(_ reason: Reason?) -> Reason {
    Reason(
      stage: "downloads", code: reason?.code ?? "not-fetched",
      message: reason?.message ?? "it was not fetched")
  }

  // MARK: What is shown

  func record(_ key: Int64, _ now: Int64) -> TransferRecord? {
    guard let transfer = transfers[key] else { return nil }
    let job = transfer.job.flatMap { jobs[$0] }
    let state: TransferRecord.State =
      if let job {
        job.token != nil ? .running : (job.dueAt ?? now) > now ? .scheduled : .waiting
      } else {
        transfer.fetched != nil
          ? .fetched : transfer.reason == nil || !transfer.isFinished ? .stopped : .failed
      }
    let keys = attachments(of: key)
    return TransferRecord(
      key: key, name: keys.isEmpty ? "" : transfer.link.name, state: state,
      bytes: transfer.fetched?.size ?? transfer.state.bytes,
      total: transfer.fetched?.size ?? transfer.state.total,
      attachments: keys.count { attachments[$0]?.outcome.status != .cancelled },
      attachmentId: keys.first.flatMap { attachments[$0]?.origin.id },
      fileName: keys.first.flatMap { attachments[$0]?.origin.fileName },
      contentType: transfer.fetched?.contentType,
      isHeld: state == .running && (job?.priority ?? 0) < TransferPriority.urgent && hasUrgentTransfer,
      attempts: job?.attempts ?? 0, priority: job?.priority ?? 0,
      nextDue: state == .scheduled ? (job?.dueAt ?? now) - now : 0,
      code: job?.isWaiting == true ? TransferRecord.notPrefetched : transfer.reason?.code,
      reason: job?.isWaiting == true ? TransferRecord.whyNotPrefetched : transfer.reason?.message)
  }

  private var hasUrgentTransfer: Bool {
    transfers.values.contains { transfer in
      guard let job = transfer.job.flatMap({ jobs[$0] }) else { return false }
      return job.token != nil && job.priority >= TransferPriority.urgent
    }
  }

  /// The transfers whose files are needed.
  var transfersWithFiles: Set<Int64> {
    Set(
      transfers.keys.filter { key in
        transfers[key]?.job != nil || transfers[key]?.isExpired == true
          || attachments(of: key).contains { attachments[$0]?.job != nil }
      })
  }
}
