import LedgerPort
import Pipeline

// Transfers, and the attachments that wait for them.
extension LedgerRows {
  // MARK: Waiting

  /// Adds the job of an attachment with a link: waiting for the transfer, or due if the content is here already.
  ///
  /// - Parameter earlier: number of earlier attempts.
  mutating func await(
    _ transfer: Int64, for attachment: Int64, turn: Int64, priority: Int64, earlier: Int64 = 0,
    _ tally: inout ExchangeTally
  ) throws(Failure) {
    let (isHere, name) = try fetched(transfer)
    if let name { try nameUnnamed(attachment, name) }
    try addJob(
      NewJob(
        JobKey(.attachment, attachment), .attachments, priority: priority, isWaiting: !isHere,
        dueAt: tally.time, earlier: earlier, turn: turn))
    if !isHere {
      try queueTransfer(transfer, priority: priority, tally.time)
      try tellPriority(of: transfer, &tally)
    }
    tally.touch(isHere ? .attachments : .downloads)
  }

  /// Makes a transfer due. A queued transfer may become more urgent, and never less.
  mutating func queueTransfer(_ key: Int64, priority: Int64, _ time: Int64) throws(Failure) {
    try reopenTransfer(key)
    let job = JobKey(.transfer, key)
    guard let row = try self.job(job) else {
      return try addJob(NewJob(job, .downloads, priority: priority, dueAt: time))
    }
    if row.priority < priority { try setPriority(job, priority) }
    if row.state == .waiting { try setJob(job, .due, uncounted: 0, crashes: 0) }
  }

  /// A queued attachment waits for its transfer again.
  package mutating func waitForTransfer(_ attachment: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    let job = JobKey(.attachment, attachment)
    guard let transfer = try transfer(of: attachment), let row = try self.job(job) else { return }
    try setJob(job, .waiting, uncounted: 0, crashes: 0)
    try queueTransfer(transfer, priority: row.priority, tally.time)
    tally.touch(.downloads)
  }

  /// Gives a transfer the highest priority among its waiting attachments. The next claim decides whether to fetch it.
  mutating func prioritize(transfer: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    tally.touch(.downloads)
    let key = JobKey(.transfer, transfer)
    guard let job = try job(key) else { return }
    if let highest = try highestWaiting(for: transfer) {
      if job.priority != highest { try setPriority(key, highest) }
      if job.state == .waiting { try setJob(key, .due, uncounted: 0, crashes: 0) }
      if highest >= TransferPriority.urgent { try hasten(key, tally.time) }
    }
    try tellPriority(of: transfer, &tally)
  }

  /// Tells the coordinator the priority of a running transfer: an urgent transfer holds the others.
  private func tellPriority(of transfer: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    guard let job = try job(JobKey(.transfer, transfer)), case .leased = job.state else { return }
    tally.priorities.append(TransferPriority(key: transfer, priority: job.priority))
  }

  /// Makes a scheduled job due at once.
  mutating func hasten(_ key: JobKey, _ time: Int64) throws(Failure) {
    guard let job = try job(key), case .scheduled(let dueAt) = job.state, dueAt > time else { return }
    try setJob(key, .scheduled(at: time), uncounted: 0, crashes: 0)
  }

  // MARK: Needs

  /// An attachment has ended or stopped waiting: drops the parts of its transfer that no attachment needs.
  package mutating func leave(transfer: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    let needs = try needs(of: transfer)
    if needs.waiting > 0 { return }
    // A running transfer is dropped at the end of its lease.
    if needs.isLeased { return tally.unwanted.append(transfer) }
    try removeJob(JobKey(.transfer, transfer))
    if needs.working > 0 { return }
    if needs.links == 0 {
      try removeTransfer(transfer)
    } else if needs.isExpired {
      // The fetched bytes stay for a new link.
      return
    } else {
      try setProgress(transfer, TransferState())
    }
    tally.filesToDelete.append(transfer)
  }

  // MARK: Results

  mutating func settle(
    _ settlement: Settlement, transfer ending: Settlement.Ending, _ tally: inout ExchangeTally
  ) throws(Failure) -> SettlementOutcome {
    guard let job = try held(settlement) else { return .leaseLost }
    if settlement.job.kind == .transfer, job.cancellation != nil {
      // The result of a replaced link says nothing about the new link, unless the content is complete.
      if case .fetched = ending {
      } else {
        try setJob(settlement.job, .due, uncounted: 1, crashes: 0)
        try leave(transfer: settlement.job.subject, &tally)
        return .conflict
      }
    }
    switch ending {
    case .fetched(let key, let content):
      try removeJob(settlement.job)
      try endTransfer(key, content, at: tally.now)
      try wake(key, name: content.fileName, &tally)
      try leave(transfer: key, &tally)
    case .notFetched(let key, let reason, let isRejected):
      try end(transfer: key, reason, isRejected: isRejected, &tally)
    case .transferAgain(let key, let after, let isCounted, let state, let reason):
      _ = try tryAgain(settlement, after, tally, uncounted: isCounted ? 0 : 1)
      try setProgress(key, state)
      try noteTransfer(key, reason, restarts: 0)
      try leave(transfer: key, &tally)
    case .transferRestarts(let key, let reason):
      _ = try tryAgain(settlement, 0, tally)
      try setProgress(key, TransferState())
      try noteTransfer(key, reason, restarts: 1)
      try leave(transfer: key, &tally)
    case .fetchAgain(_, let transfer):
      // A cancelled attachment does not wait.
      let waits = job.cancellation == nil
      try setJob(settlement.job, waits ? .waiting : .due, uncounted: 1, crashes: 0)
      guard waits else { break }
      try queueTransfer(transfer, priority: job.priority, tally.time)
      tally.touch(.downloads)
    case .attachment, .expanded, .again, .putOff, .released, .delivered, .deliveryAgain, .deadLetter: break
    }
    return .counted
  }

  /// A transfer ends without its content.
  package mutating func end(
    transfer key: Int64, _ reason: Reason, isRejected: Bool, _ tally: inout ExchangeTally
  ) throws(Failure) {
    try removeJob(JobKey(.transfer, key))
    try endTransfer(key, reason, isRejected: isRejected, at: tally.now)
    try wake(key, name: nil, &tally)
    try leave(transfer: key, &tally)
  }

  /// Makes the waiting attachments of a transfer due.
  private mutating func wake(_ transfer: Int64, name: String?, _ tally: inout ExchangeTally) throws(Failure) {
    let attachments = try wakeWaiting(for: transfer, name: name, at: tally.time)
    for key in attachments { tally.changed.add(attachment: key) }
    tally.touch(.attachments)
  }

  /// Records the progress of a transfer, if its lease holds.
  package mutating func take(_ checkpoint: TransferCheckpoint) throws(Failure) {
    guard let job = try job(checkpoint.job), job.state == .leased(checkpoint.token), job.cancellation == nil
    else { return }
    try setProgress(checkpoint.key, checkpoint.state)
  }
}
