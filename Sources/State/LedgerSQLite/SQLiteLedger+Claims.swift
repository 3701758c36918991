import LedgerPort
import LedgerRules
import Pipeline
import SQLite

// Claiming: what is due is leased, with all that the work needs.
extension SQLiteLedger {
  /// Whether the lane has no due job and is not paused, so that a job added now is next.
  func isFree(_ lane: LaneName, _ time: Int64) throws -> Bool {
    let key = try laneKey(lane)
    if try statement(SQL.hasDue).first(.integer(key), make: { $0.integer(0) }) == 1 { return false }
    if let next = try nextDue(key), next <= time { return false }
    return try pauses(of: key).isEmpty
  }

  /// Where one is to be alone, those before it are claimed and itself. It waits until they are done.
  func claimAttachments(
    _ want: Want, _ count: Int, _ lane: Int64, _ tally: inout ExchangeTally
  ) throws -> [Lease] {
    var leases: [Lease] = []
    var unfetched: [Int64] = []
    let (next, token) = (AttachmentOrigin.width, tally.token)
    var queue = DueJobs(ledger: self, lane: lane, jobs: SQL.dueAttachments, subject: next + 8) { [self] row in
      guard !row.isNull(next) else {
        leases.append(try lease(.attachment, row, next + 8, token, nil))
        return true
      }
      guard let work = try attachment(row) else {
        unfetched.append(row.integer(next + 8))
        return true
      }
      let lease = try lease(.attachment, row, next + 8, token, work)
      leases.append(lease)
      return !lease.isSolitary
    }
    try take(from: &queue, want, count)
    var rows = self
    for key in unfetched where try !rows.waitForChildren(key) { try rows.waitForTransfer(key, &tally) }
    return leases
  }

  private func take(from queue: inout DueJobs, _ want: Want, _ count: Int) throws {
    var claim = TurnClaim(count, inHand: want.inHand)
    try claim.take(from: &queue, after: &lastTurns[queue.lane, default: .min])
  }

  /// `nil`: its link is not fetched, or its children have not ended.
  private func attachment(_ row: borrowing Row) throws -> LeasedWork? {
    let next = AttachmentOrigin.width
    let key = row.integer(next + 8)
    let source: AttachmentSource
    if let kept = row.optionalText(next + 7) {
      let sha256 = try statement(SQL.contentAt).first(.text(kept)) { $0.blob(0) } ?? []
      source = .object(path: kept, sha256: sha256, source: row.blob(next + 2))
    } else if row.text(next + 6) == "link" {
      let name = String(decoding: row.blob(next + 2), as: UTF8.self)
      let link = try link(of: key, name: name, isCancelled: !row.isNull(next + 14))
      guard let link else { return nil }
      source = link
    } else {
      source = .file(
        host: row.optionalText(next + 1), path: row.blob(next + 2), size: row.integer(next + 3),
        modified: row.integer(next + 4), folderDevice: row.optionalInteger(next + 5))
    }
    var attachment = LeasedAttachment(
      key: key, origin: AttachmentOrigin(row), participants: row.text(next), source: source)
    try addExpansion(to: &attachment)
    if attachment.concluded != nil, row.isNull(next + 14), try expansion(of: key)?.open ?? 0 > 0 {
      return nil
    }
    return .attachment(attachment)
  }

  func claimDeliveries(_ want: Want, _ count: Int, _ lane: Int64, _ token: Token) throws -> [Lease] {
    var leases: [Lease] = []
    var queue = DueJobs(ledger: self, lane: lane, jobs: SQL.dueDeliveries, subject: 9) { [self] row in
      leases.append(try lease(.delivery, row, 9, token, row.isNull(6) ? nil : delivery(row)))
      return true
    }
    try take(from: &queue, want, count)
    return leases
  }

  private func delivery(_ row: borrowing Row) -> LeasedWork {
    .delivery(
      LeasedDelivery(
        key: row.integer(9), id: row.text(0), channel: row.text(1), recipient: row.text(2),
        type: row.text(3),
        data: row.text(4), createdAt: row.integer(5), attachmentId: row.text(6), conversationId: row.text(7),
        messageId: row.text(8)))
  }

  /// The lease of a due job.
  ///
  /// - Parameters:
  ///   - column: the first of the job's.
  ///   - work: what it is for; `nil`: that is not there.
  func lease(
    _ kind: JobKey.Kind, _ row: borrowing Row, _ column: Int32, _ token: Token, _ work: LeasedWork?
  ) throws -> Lease {
    let job = JobKey(kind, row.integer(column))
    guard let work else {
      throw LedgerError(.damaged, "\(path): the job of \(job) is for nothing; \(LedgerError.restore)")
    }
    // A ledger that another program has written may say anything.
    let (begun, uncounted) = (row.integer(column + 1), Int(row.integer(column + 3)))
    let attempts = Int(begun == .max ? begun : begun + 1)
    return Lease(
      job: job, token: token, attempt: attempts, counted: max(attempts, 0) - max(uncounted, 0),
      crashes: Int(row.integer(column + 2)), losses: Int(row.integer(column + 4)),
      priority: row.integer(column + 5), turn: row.integer(column + 7),
      cancellation: row.optionalText(column + 6),
      work: work)
  }
}
