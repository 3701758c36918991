import LedgerPort
import LedgerRules
import Pipeline

/// The due attachments or deliveries of a lane, looked through one by one.
struct ModelTurnQueue: TurnQueue {
  private var due: [ModelRows.Job]
  /// The keys of those that were taken.
  private(set) var taken: [JobKey] = []
  private var chosen: Set<JobKey> = []
  /// The keys of those after which nothing more is to be taken.
  private let last: Set<JobKey>
  private(set) var isOver = false

  init(_ due: [ModelRows.Job], last: Set<JobKey>) {
    (self.due, self.last) = (due, last)
  }

  func priority(below last: Int64?) -> Int64? {
    due.map(\.priority).filter { last == nil || $0 < last ?? 0 }.max()
  }

  func sender(after last: Int64, _ priority: Int64) -> Int64? {
    due.filter { $0.priority == priority && $0.turn > last }.map(\.turn).min()
  }

  mutating func take(_ count: Int, of sender: Int64, _ priority: Int64) -> Int {
    let jobs = due.filter { $0.priority == priority && $0.turn == sender && !chosen.contains($0.key) }
    var number = 0
    for job in jobs.sorted(by: { $0.key < $1.key }).prefix(count) where !isOver {
      taken.append(job.key)
      chosen.insert(job.key)
      number += 1
      isOver = last.contains(job.key)
    }
    return number
  }
}
