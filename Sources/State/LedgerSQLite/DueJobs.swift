import LedgerPort
import LedgerRules
import Pipeline
import SQLite

/// The due attachments or deliveries of a lane in the ledger.
struct DueJobs: TurnQueue {
  let ledger: SQLiteLedger
  let lane: Int64
  /// Reads jobs: of a lane (?1), a priority (?2) and a sender (?3), whose subjects are greater (?4), up to a number (?5).
  let jobs: SQLText
  /// Is given each row with the column in which the job's subject is. False: nothing more is to be taken.
  let take: (borrowing Row) throws -> Bool
  /// The column of the job's subject.
  let subject: Int32
  private(set) var isOver = false
  /// The last that was taken, by sender, of the priority that is looked at.
  private var last: (priority: Int64, keys: [Int64: Int64]) = (.min, [:])

  init(
    ledger: SQLiteLedger, lane: Int64, jobs: SQLText, subject: Int32,
    take: @escaping (borrowing Row) throws -> Bool
  ) {
    (self.ledger, self.lane, self.jobs, self.subject, self.take) = (ledger, lane, jobs, subject, take)
  }

  func priority(below last: Int64?) throws -> Int64? {
    guard let last else { return try number(SQL.highestPriority) }
    return try number(SQL.nextHighest, last)
  }

  func sender(after last: Int64, _ priority: Int64) throws -> Int64? {
    try number(SQL.nextTurn, priority, last)
  }

  mutating func take(_ count: Int, of sender: Int64, _ priority: Int64) throws -> Int {
    if last.priority != priority { last = (priority, [:]) }
    var (taken, latest) = (0, last.keys[sender] ?? .min)
    try ledger.statement(jobs).rows(
      .integer(lane), .integer(priority), .integer(sender), .integer(latest), .integer(Int64(count))
    ) { row in
      if isOver { return }
      taken += 1
      latest = row.integer(subject)
      isOver = try !take(row)
    }
    last.keys[sender] = latest
    return taken
  }

  private func number(_ sql: StaticString, _ values: Int64...) throws -> Int64? {
    var number: Int64?
    try ledger.statement(sql).rows([.integer(lane)] + values.map { .integer($0) }) { number = $0.integer(0) }
    return number
  }
}
