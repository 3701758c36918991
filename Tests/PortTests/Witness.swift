import LedgerPort
import Pipeline

/// Sees each exchange that is done, in order, and judges by little state of its own whether it may be so.
final class Witness {
  private struct Work {
    var token: Token?
    var lane: LaneName
    /// Of the attachment or delivery.
    var id: String
    var attachmentId: String
    var delivery: Int64?
    var losses = 0
    /// Attempts that count and have ended.
    var counted = 0
  }

  private(set) var faults: [String] = []
  private var done: Set<Token> = []
  /// When each coordinator may be taken for lost.
  private var until: [Int64: Int64] = [:]
  /// By job.
  private var work: [JobKey: Work] = [:]
  private var attempts: Set<String> = []
  /// How often attachments have ended, less how often they were queued again.
  private var ends: [String: Int] = [:]
  /// Attachments with a link; and those of them that a new link may have queued again since they ended.
  private var linked: Set<String> = []
  private var mayBeQueued: Set<String> = []
  /// By id and key: the key of one that was deleted may be given again.
  private var delivered: Set<String> = []
  private var taken: Set<String> = []
  private var added = 0
  private var deleted: Set<String> = []
  private var paused: Set<String> = []
  private(set) var outcomes: [String: Int] = [:]
  /// What ended, by position.
  private var endings: [Int64: Set<String>] = [:]
  private var position: Int64 = 0

  func expect(_ isRight: Bool, _ fault: @autoclosure () -> String) {
    if !isRight && faults.count < 5 { faults.append(fault()) }
  }

  // MARK: Coordinators

  /// - Parameter position: after it joined.
  func joined(_ holder: Int64, at now: Int64, until: Int64, _ position: Position) {
    tookBack(at: now, by: holder, nil)
    expect(self.until[holder] == nil, "holder \(holder) was there before")
    self.until[holder] = until
    let lifted = paused.filter { $0.hasSuffix(" fault") }
    expect(position.number == self.position + (lifted.isEmpty ? 0 : 1), "joining gave \(position)")
    self.position = position.number
    paused.subtract(lifted)
  }

  /// Leases of overdue coordinators are given back; those of no other.
  func tookBack(at now: Int64, by holder: Int64, _ count: Int?) {
    let lost = until.filter { $0.value < now && $0.key != holder }.map(\.key)
    var found = 0
    for (job, state) in work where lost.contains(state.token?.holder ?? -1) {
      work[job]?.token = nil
      work[job]?.losses += 1
      found += 1
    }
    for holder in lost { until[holder] = nil }
    expect(count ?? found == found, "\(count ?? 0) jobs were taken back, not \(found)")
  }

  /// It does nothing any more, and has not left.
  func isLost(_ holder: Int64) { until[holder] = .min }

  func left(_ holder: Int64) {
    for (job, state) in work where state.token?.holder == holder { work[job]?.token = nil }
    until[holder] = nil
  }

  /// A coordinator has an answer.
  func answered(_ exchange: Exchange, _ reply: ExchangeReply, by holder: Int64) {
    let token = Token(holder: holder, number: exchange.number)
    expect(done.contains(token), "\(token) is answered and was not done")
    for (command, result) in zip(exchange.commands, reply.results) {
      guard case (.takeIn(let items), .takenIn(let report)) = (command, result) else { continue }
      if report.problems.isEmpty { taken.formUnion(items.map(\.fileName)) }
    }
  }

  // MARK: Exchanges

  func saw(_ exchange: Exchange, _ reply: ExchangeReply, by holder: Int64, until: Int64) {
    let token = Token(holder: holder, number: exchange.number)
    expect(done.insert(token).inserted, "\(token) is done twice")
    expect(self.until[holder] != nil, "\(holder) was taken for lost, and writes")
    self.until[holder] = until
    var ended: Set<String> = []
    for (command, result) in zip(exchange.commands, reply.results) { saw(command, result) }
    // The attachments of deleted messages and of erased users.
    for id in reply.deletedAttachments where deleted.insert(id).inserted {
      forget { $0.attachmentId == id }
    }
    for (settlement, outcome) in zip(exchange.settlements, reply.settled) {
      saw(settlement, outcome, &ended)
    }
    for lease in reply.leases { saw(lease, token) }
    if let number = reply.position?.number {
      expect(number == position + 1, "position \(number) came after \(position)")
      (position, endings[number]) = (number, ended)
    } else {
      expect(ended.isEmpty, "\(ended) ended without a position")
    }
  }

  private func forget(_ isIt: (Work) -> Bool) {
    for (job, state) in work where isIt(state) { work[job] = nil }
  }

  private func saw(_ command: Command, _ result: CommandResult) {
    switch (command, result) {
    case (.attachment(let command), .done(hasChanged: true)) where command.action == .delete(by: "ann"):
      expect(deleted.insert(command.attachmentId).inserted, "\(command.attachmentId) is deleted twice")
      forget { $0.attachmentId == command.attachmentId }
    case (.delivery(let command), .done(hasChanged: true)):
      switch command.action {
      case .drop:
        delivered.insert("\(command.deliveryId) \(command.key)")
        forget { $0.delivery == command.key }
      case .retry: delivered.remove("\(command.deliveryId) \(command.key)")
      }
    case (.takeIn(let items), .takenIn(let report)):
      added += report.added
      for (item, outcome) in zip(items, report.outcomes) {
        if case .added(let id) = outcome, item.url != nil { linked.insert(id) }
      }
    case (.upload(.finish(_, let item)), .takenIn(let report)):
      added += report.added
      if case .added(let id)? = report.outcomes.first, item.url != nil { linked.insert(id) }
    case (.refresh, .done(hasChanged: true)): mayBeQueued.formUnion(linked.filter { ends[$0] == 1 })
    case (.attachment(let command), .done(hasChanged: true)):
      // One that waits for later is hastened only.
      if ends[command.attachmentId] == 1 { ends[command.attachmentId] = 0 }
    case (.lane(let command), .done(hasChanged: true)):
      switch command.action {
      case .pause(let pause): paused.insert("\(command.lane) \(pause.cause)")
      case .resume(let cause):
        for other in [Pause.Cause.person, .fault, .hand] where cause == nil || cause == other {
          paused.remove("\(command.lane) \(other)")
        }
      case .hasten: break
      }
    default: break
    }
  }

  private func saw(_ settlement: Settlement, _ outcome: SettlementOutcome, _ ended: inout Set<String>) {
    outcomes["\(outcome)", default: 0] += 1
    let isInHand = work[settlement.job]?.token == settlement.token
    expect(isInHand == (outcome != .leaseLost), "job \(settlement.job): \(outcome) under \(settlement.token)")
    if outcome == .leaseLost { return }
    if case .tooManyChildren = outcome { return }
    work[settlement.job]?.token = nil
    if outcome != .counted { return }
    switch settlement.ending {
    case .again, .deliveryAgain, .transferRestarts, .transferAgain(_, _, isCounted: true, _, _):
      work[settlement.job]?.counted += 1
    case .attachment(let attachment):
      if mayBeQueued.remove(attachment.origin.id) != nil { ends[attachment.origin.id] = 0 }
      ends[attachment.origin.id, default: 0] += 1
      expect(ends[attachment.origin.id] == 1, "\(attachment.origin.fileName) ended twice")
      ended.insert(attachment.origin.id)
      work[settlement.job] = nil
      // Nothing is on record of this attempt: its number comes again.
      if attachment.steps.isEmpty {
        attempts = attempts.filter { !$0.hasPrefix("\(attachment.origin.id) ") }
      }
    case .delivered(let key), .deadLetter(let key, _):
      expect(
        delivered.insert("\(work[settlement.job]?.id ?? "") \(key)").inserted, "delivery \(key) ended twice")
      ended.insert(work[settlement.job]?.id ?? "")
      work[settlement.job] = nil
    case .fetched, .notFetched: work[settlement.job] = nil
    case .expanded, .putOff, .released, .transferAgain, .fetchAgain: break
    }
  }

  private func saw(_ lease: Lease, _ token: Token) {
    let lane: LaneName
    let attachmentId: String
    var delivery: Int64?
    switch lease.work {
    case .attachment(let attachment):
      (lane, attachmentId) = (.attachments, attachment.origin.id)
      let attempt = "\(attachmentId) \(lease.attempt)"
      expect(attempts.insert(attempt).inserted, "attempt \(attempt) was made before")
    case .transfer:
      (lane, attachmentId) = (.downloads, "")
      // One that nobody waited for any more was forgotten.
      if lease.attempt == 1 && work[lease.job]?.token == nil { work[lease.job] = nil }
    case .delivery(let leased):
      (lane, attachmentId) = (.channel(leased.channel), leased.attachmentId)
      delivery = leased.key
      let others = work.values.contains {
        $0.lane == lane && $0.token != nil && $0.token?.holder != token.holder
      }
      expect(!others, "two have deliveries of \(lane)")
    }
    let before =
      work[lease.job]
      ?? Work(lane: lane, id: Sample.id(lease), attachmentId: attachmentId, delivery: delivery)
    expect(!deleted.contains(attachmentId), "\(attachmentId) is claimed after it was deleted")
    expect(before.token == nil, "job \(lease.job) is in hand under \(String(describing: before.token))")
    expect(lease.token == token, "\(lease.token) was given in \(token)")
    expect(lease.losses == before.losses, "job \(lease.job): \(lease.losses) losses, not \(before.losses)")
    expect(
      lease.counted == before.counted + 1,
      "job \(lease.job): \(lease.counted) count, not \(before.counted + 1)")
    expect(!paused.contains { $0.hasPrefix("\(lane) ") }, "\(lane) is paused")
    work[lease.job] = before
    work[lease.job]?.token = token
  }

  // MARK: The end

  /// Judges what is on record, and what a reader saw that followed the changes.
  func judge(_ ledger: some LedgerQueries, isFinished: Bool, _ seen: [Int64: [Change]]) throws {
    var counts: [Status: Int64] = [:]
    var (names, rows) = (Set<String>(), 0)
    try ledger.attachments { record in
      let status = record.outcome.status
      counts[status, default: 0] += 1
      rows += 1
      names.insert(record.origin.fileName)
      expect(
        (ends[record.origin.id] ?? 0) == (status.isFinal ? 1 : 0) || mayBeQueued.contains(record.origin.id),
        "\(record.key) is \(status)")
      expect(!isFinished || status.isFinal, "\(record.key) is owed")
      for delivery in try ledger.deliveries(of: record.key) {
        expect(!isFinished || delivery.status != .pending, "delivery \(delivery.id) is owed")
      }
      return true
    }
    expect(
      rows + deleted.count == added, "\(added) were taken in, \(deleted.count) deleted, and \(rows) are there"
    )
    expect(try ledger.tombstoneCount() == deleted.count, "not each that was deleted has a tombstone")
    expect(
      taken.subtracting(names).count <= deleted.count,
      "\(taken.subtracting(names).count) that were answered are not there")
    for (status, count, _) in try ledger.status().attachments {
      expect(
        count == counts[status] ?? 0, "\(status): \(count) are counted, and \(counts[status] ?? 0) are there")
    }
    let last = try ledger.position().number
    expect(last == position, "the position is \(last), not \(position)")
    if !isFinished { return }
    expect(
      Set(seen.keys) == Set(1...max(last, 1)), "\(last) positions are there, and \(seen.count) were read")
    for (position, ended) in endings {
      let read = Set((seen[position] ?? []).map(\.id))
      // What was deleted since is not told any more.
      expect(
        ended.isSubset(of: read) || !deleted.isEmpty, "at position \(position) an end is missing")
    }
  }
}
