import LedgerPort
import Pipeline
import Platform

/// Rates over the last seconds, from the counts of the ledger.
struct WatchRates {
  private struct Sample {
    /// Monotonic, in nanoseconds.
    var time: UInt64
    var all: Int64
    var ended: Int64
    var bytes: Int64
  }

  private static let window: UInt64 = 10_000_000_000
  private var samples: [Sample] = []

  mutating func add(_ status: LedgerStatus, at time: UInt64 = Clock.monotonic()) {
    let ended = status.attachments.filter { $0.status != .queued }
    samples.append(
      Sample(
        time: time, all: status.attachments.reduce(0) { $0 &+ $1.count },
        ended: ended.reduce(0) { $0 &+ $1.count }, bytes: ended.reduce(0) { $0 &+ $1.bytes }))
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
  }

  /// Attachments taken in, attachments and bytes ended, a second. What is queued again or deleted counts against them, down to 0.
  var rates: (intake: Double, ended: Double, bytes: Double) {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return (0, 0, 0) }
    let seconds = Double(last.time - first.time) / 1e9
    func rate(_ from: Int64, _ to: Int64) -> Double { Double(max(to &- from, 0)) / seconds }
    return (rate(first.all, last.all), rate(first.ended, last.ended), rate(first.bytes, last.bytes))
  }
}
