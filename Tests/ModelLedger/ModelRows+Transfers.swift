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
    /// Those that have its link.
    var attachments: Set<Int64> = []

    /// It has ended since its link was not taken any more.
    var isExpired: Bool { isFinished && fetched == nil && reason?.code == TransferRun.expired }
  }

  /// The attachments of a transfer, in order.
  func attachments(of transfer: Int64) -> [Int64] { transfers[transfer]?.attachments.sorted() ?? [] }

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
    let job = jobs[JobKey(.transfer, key)]
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
    jobs.values.contains {
      $0.key.kind == .transfer && $0.token != nil && $0.priority >= TransferPriority.urgent
    }
  }

  /// The transfers whose files are needed.
  var transfersWithFiles: Set<Int64> {
    Set(
      transfers.keys.filter { key in
        jobs[JobKey(.transfer, key)] != nil || transfers[key]?.isExpired == true
          || attachments(of: key).contains { jobs[JobKey(.attachment, $0)] != nil }
      })
  }
}
