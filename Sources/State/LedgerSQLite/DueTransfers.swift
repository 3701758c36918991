import LedgerPort
import LedgerRules
import Pipeline
import SQLite

/// The due transfers of a lane in the ledger: the oldest first. Under a rule for prefetching those that were not asked for are
/// offered the newest first; what is not wanted is put aside on the way, so that no other claim looks at it.
struct DueTransfers: TransferQueue {
  let ledger: SQLiteLedger
  let lane: Int64
  /// See ``Want/prefetch``.
  let prefetch: Int
  /// What is put aside at once, at most.
  private var left = Prefetch.looks
  /// The last host that was found, with its oldest job: the next question is for that.
  private var found: (sender: Int64, priority: Int64, host: Int64, job: Int64)?

  init(ledger: SQLiteLedger, lane: Int64, prefetch: Int) {
    (self.ledger, self.lane, self.prefetch) = (ledger, lane, prefetch)
  }

  func urgent(_ count: Int) throws -> [DueTransfer] {
    var urgent: [DueTransfer] = []
    try ledger.statement(SQL.urgentTransfers).rows(.integer(lane), .integer(Int64(count))) { row in
      urgent.append(
        DueTransfer(
          job: row.integer(0), host: row.integer(1), sender: row.integer(2), priority: row.integer(3)))
    }
    return urgent
  }

  func sender(after last: Int64) throws -> Int64? { try number(SQL.nextSender, last) }

  func priority(of sender: Int64, upTo most: Int64) throws -> Int64? {
    try number(SQL.nextPriority, sender, most)
  }

  mutating func host(after last: Int64, of sender: Int64, _ priority: Int64) throws -> Int64? {
    found = nil
    try ledger.statement(SQL.nextHost)
      .rows(.integer(sender), .integer(priority), .integer(last)) { row in
        found = (sender, priority, row.integer(0), row.integer(1))
      }
    return found?.host
  }

  mutating func job(
    after last: Int64?, of sender: Int64, _ priority: Int64, _ host: Int64
  ) throws -> Int64? {
    if prefetch == 0 || priority >= TransferPriority.asked {
      if last == nil, let found, found.host == host, found.sender == sender, found.priority == priority {
        return found.job
      }
      return try number(SQL.nextOldest, sender, priority, host, last ?? .min)
    }
    while left > 0, let job = try number(SQL.nextNewest, sender, priority, host, last ?? .max) {
      if try ledger.isWanted(job) { return job }
      left -= 1
      try ledger.statement(SQL.putAside).run(.integer(job))
      try ledger.statement(SQL.removeTurn).run(.integer(job))
    }
    return nil
  }

  private func number(_ sql: SQLText, _ values: Int64...) throws -> Int64? {
    try ledger.statement(sql).first(values.map { .integer($0) }) { $0.integer(0) }
  }
}
