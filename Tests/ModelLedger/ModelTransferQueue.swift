import LedgerPort
import LedgerRules
import Pipeline

/// The due transfers, looked through one by one.
struct ModelTransferQueue: TransferQueue {
  private(set) var rows: ModelRows
  /// See ``Want/prefetch``.
  let prefetch: Int

  private var due: [DueTransfer]

  init(rows: ModelRows, prefetch: Int) {
    (self.rows, self.prefetch) = (rows, prefetch)
    due = rows.jobs.values.filter { $0.isDue && $0.lane == .downloads }.compactMap { job in
      rows.transfer(of: job).map {
        DueTransfer(job: job.key.subject, host: $0.host, sender: $0.sender, priority: job.priority)
      }
    }
  }

  func urgent(_ count: Int) -> [DueTransfer] {
    let urgent = due.filter { $0.priority >= TransferPriority.urgent }
    return Array(urgent.sorted { ($1.priority, $0.job) < ($0.priority, $1.job) }.prefix(count))
  }

  func sender(after last: Int64) -> Int64? { due.map(\.sender).filter { $0 > last }.min() }

  func priority(of sender: Int64, upTo most: Int64) -> Int64? {
    due.filter { $0.sender == sender && $0.priority <= most }.map(\.priority).max()
  }

  func host(after last: Int64, of sender: Int64, _ priority: Int64) -> Int64? {
    due.filter { $0.sender == sender && $0.priority == priority && $0.host > last }.map(\.host).min()
  }

  mutating func job(after last: Int64?, of sender: Int64, _ priority: Int64, _ host: Int64) -> Int64? {
    let jobs = due.filter { $0.sender == sender && $0.priority == priority && $0.host == host }.map(\.job)
    if prefetch == 0 || priority >= TransferPriority.asked {
      return jobs.filter { $0 > last ?? .min }.min()
    }
    for key in jobs.filter({ $0 < last ?? .max }).sorted(by: >) {
      guard let job = rows.jobs[JobKey(.transfer, key)] else { continue }
      if rows.isWanted(job, prefetch) { return key }
      rows.jobs[JobKey(.transfer, key)]?.isWaiting = true
      due.removeAll { $0.job == key }
    }
    return nil
  }
}

extension ModelRows {
  /// `nil`: the job is another's.
  func transfer(of job: Job) -> Transfer? {
    job.key.kind == .transfer ? transfers[job.key.subject] : nil
  }
}
