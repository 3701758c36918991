import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform

/// Prunes now and then while a coordinator runs, as `sluice prune` does beside it.
final class Pruner: Sendable {
  private let end: Mailbox<Void>

  /// - Parameter rules: not empty.
  init(_ home: Home, _ rules: KeepRules) throws(SystemError) {
    // A tenth of the shortest age: what is not kept any more is gone soon after.
    let shortest = rules.ages.values.min() ?? .max
    let interval = Int(min(max(shortest / 10, 1000), 3_600_000))
    let end = Mailbox<Void>(capacity: 1)
    self.end = end
    let thread = try Thread {
      var wait = min(interval, 10_000)
      // Empty: it has ended.
      while end.receive(within: wait) == nil {
        wait = interval
        do {
          let pruning = Pruning(
            rules: rules, ledger: try home.reader(), isWanted: { end.receive(within: 0) == nil })
          _ = try pruning.run(CommandDesk(home))
        } catch {
          if end.receive(within: 0) != nil { return }
          Terminal.error("pruning: \(error); it is tried again in \(Interval.text(Int64(interval)))")
        }
      }
    }
    // It may be waiting for an answer of the coordinator that ends.
    thread.detach()
  }

  /// Begins nothing more.
  func stop() { end.close() }
}
