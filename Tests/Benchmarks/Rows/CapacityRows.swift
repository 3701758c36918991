import HomeFolder
import LedgerPort
import LedgerSQLite
import Platform
import Scheduler

/// What one coordinator carries: the scheduler and the ledger with workers that are no processes, so that there may be
/// more of them at work than this machine has processors.
///
/// Left out are the frames between coordinator and workers with their system calls, and the threads that open sources and
/// rename objects.
enum CapacityRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    for workers in [2, 8, 16, 32] {
      let name = "capacity: \(workers) workers, 700 us for a PDF"
      report.measure(name) {
        // So many that it takes some seconds.
        let count = min(workers * settings.size(4_000, quick: 1_500), settings.size(25_000, quick: 12_000))
        return [try row(settings, ground, name, workers: workers, contentTime: 700_000, count, goal: nil)]
      }
    }
    let name = "capacity: workers that answer at once"
    report.measure(name) {
      let count = settings.size(40_000, quick: 20_000)
      return [try row(settings, ground, name, workers: 8, contentTime: 0, count, goal: .atLeast(14_000))]
    }
  }

  private static func row(
    _ settings: Settings, _ ground: Ground, _ name: String, workers: Int, contentTime: UInt64, _ count: Int,
    goal: Goal?
  ) throws -> TableRow {
    let sources = try BenchLedger.Sources(
      files: Input.texts(1_000, size: 200, on: ground, under: "queue").folder)
    var runs: [Run] = []
    for round in 1...settings.rounds(atMost: 3) {
      ground.settleDisk()
      runs.append(
        try measure(
          home: ground.store("capacity"), workers: workers, contentTime: contentTime, count, sources))
      progress("\(name), round \(round): \(Table.number(runs[round - 1].rate))/s")
    }
    func share(_ part: (Run) -> Double) -> String { Table.number(Series(runs.map(part)).median * 100) + " %" }
    var remark =
      "of a processor: the scheduler's thread \(share(\.scheduler)), the ledger's \(share(\.ledger)), which with its syncs was "
      + "busy for \(share(\.ledgerInHand)) of the time"
    if contentTime > 0 {
      remark +=
        "; the workers \(share { $0.rate * Double(contentTime) / 1e9 / Double(workers) })"
    }
    return TableRow(
      name, "per s", runs.map(\.rate), goal: goal, remark: remark)
  }

  /// A run: attachments a second, and the processor time of each thread by the time that it took.
  struct Run {
    var rate: Double
    var scheduler: Double
    var ledger: Double
    /// The part in which the ledger's thread was at work or waited for a sync.
    var ledgerInHand: Double
  }

  /// Takes attachments in, and through the stages, until all have ended and are told. Throws if some are not.
  ///
  /// - Parameters:
  ///   - path: of a home that is not there yet.
  ///   - workers: of each kind that parses content.
  ///   - contentTime: nanoseconds that one of them takes for an attachment.
  static func measure(
    home path: String, workers: Int, contentTime: UInt64, _ count: Int, _ sources: BenchLedger.Sources
  ) throws -> Run {
    let home = Home(path)
    try home.create()
    let lock = try home.lock()
    defer { withExtendedLifetime(lock) {} }
    let ledger = try home.join()
    let items = (0..<count).map(sources.item)
    let world = try ScriptedWorld(ledger, contentTime: contentTime, source: sources.first, items: items)
    let scheduler = Scheduler(
      ScriptedPipeline.make(workers: workers), digest: ScriptedPipeline.digest, ledger: ledger,
      home: home.path, processors: workers, isIntakeOver: false, world.environment())
    var ended = 0
    var delivered = 0
    var odd: String?
    let started = Clock.monotonic()
    let before = LedgerThread.ownProcessorSeconds()
    _ = try scheduler.run { event in
      switch event {
      case .ended(let record): if record.outcome.status == .completed { ended += 1 }
      case .delivered: delivered += 1
      case .problem(let text), .ledgerAway(let text): odd = text
      default: break
      }
    }
    let own = LedgerThread.ownProcessorSeconds() - before
    let seconds = Double(Clock.monotonic() - started) / 1e9
    guard ended == count, delivered == count else {
      throw BenchError("of \(count) attachments \(ended) ended and \(delivered) were told: \(odd ?? "")")
    }
    return Run(
      rate: Double(count) / seconds, scheduler: own / seconds, ledger: world.ledgerUse.processor / seconds,
      ledgerInHand: world.ledgerUse.inHand / seconds)
  }
}
