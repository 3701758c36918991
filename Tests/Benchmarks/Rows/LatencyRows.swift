import Control
import Glibc
import HomeFolder
import LedgerPort
import Platform
import SQLite

/// The time for one file: through a waiting scheduler, and as a separate command.
enum LatencyRows {
  /// The limit for a small PDF, in bytes. Three quarters of the corpus are smaller, and poppler reads each of
  /// them faster than the rest of the work takes.
  private static let small = 64 << 10

  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("latency: resident") { try resident(settings, ground) }
    report.measure("latency: start") {
      var times: [Double] = []
      for _ in 0...(settings.isQuick ? 10 : 50) {
        let child = try Child([Sluice.program, "version"], out: Ground.output("version"))
        times.append(try child.end(as: 0).seconds * 1e3)
      }
      return [TableRow("latency: start of sluice version", "ms", Array(times.dropFirst()), goal: .below(15))]
    }
    report.measure("latency: one file") {
      let input = try Input.pdfs(1, sizes: 0...small, on: ground, under: "one")
      let pipeline = try Sluice.pipeline("latency")
      var times: [Double] = []
      for _ in 0...(settings.isQuick ? 5 : 20) {
        times.append(try Sluice.ingest(pipeline, home: ground.store("one"), input).seconds * 1e3)
      }
      return [TableRow("latency: ingest of one file", "ms", Array(times.dropFirst()), goal: .below(60))]
    }
  }

  /// The time from a client's request until another process sees the attachment completed, which is when its
  /// transaction is synced; and until its event is in `events.jsonl`.
  private static func resident(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let input = try Input.pdfs(settings.size(201, quick: 31), sizes: 0...small, on: ground, under: "latency")
    let sources = try BenchLedger.Sources(files: input.folder)
    let home = ground.store("resident")
    let scheduler = try Child(
      [Sluice.program, "run", "--home", home, "--config", try Sluice.pipeline("latency")],
      out: Ground.output("run"))
    // Once it prints its first words, it owns the queue.
    while try Files.bytes(scheduler.errors).isEmpty {
      if scheduler.hasEnded(within: 0.01) || scheduler.age > 60 {
        throw BenchError("sluice run does not begin: \(Files.tail(scheduler.errors))")
      }
    }
    let desk = try Desk(home: home, scheduler: scheduler)
    var completed: [Double] = []
    var told: [Double] = []
    for index in 0..<input.count {
      let times = try desk.enqueue(sources.item(index), seen: index)
      completed.append(times.completed)
      told.append(times.told)
    }
    scheduler.signal(SIGTERM)
    try scheduler.end(as: 0, within: 60)
    // The first one waits for workers to start.
    let series = Series(Array(completed.dropFirst()))
    return [
      TableRow("latency: one file, resident", "ms", series.values, goal: .below(5)),
      TableRow("latency: one file, resident, p99", "ms", [series.quantile(0.99)], goal: .below(25)),
      TableRow("latency: its event, resident", "ms", Array(told.dropFirst()), goal: nil),
    ]
  }

  /// Passes one file after another: the scheduler is idle before each.
  private struct Desk {
    private let client: ControlClient
    private let completed: Statement
    private let events: String
    private let scheduler: Child

    init(home: String, scheduler: Child) throws {
      client = try ControlClient(Home(home))
      completed = try Sluice.ledger(home).prepare(
        "SELECT attachments FROM counts WHERE status = 'completed'")
      events = home + "/events.jsonl"
      self.scheduler = scheduler
    }

    /// Milliseconds until the file is completed, and until its event is written.
    func enqueue(_ item: IntakeItem, seen: Int) throws -> (completed: Double, told: Double) {
      let bytes = size(of: events)
      let started = Clock.monotonic()
      guard try client.enqueue([item]).added == 1 else { throw BenchError("file \(seen) was not taken") }
      try wait(for: seen, since: started) { try completed.first { $0.integer(0) } == Int64(seen + 1) }
      let end = QueueRows.seconds(since: started) * 1e3
      try wait(for: seen, since: started) { size(of: events) > bytes }
      let told = QueueRows.seconds(since: started) * 1e3
      let lines = try Sluice.lines(events)
      guard lines == seen + 1 else { throw BenchError("\(lines) events for \(seen + 1) files") }
      usleep(20_000)
      return (end, told)
    }

    /// Polls often, but not continuously: one of two processors is for the scheduler, the other for the
    /// worker.
    private func wait(for seen: Int, since started: UInt64, until isSo: () throws -> Bool) throws {
      while try !isSo() {
        if QueueRows.seconds(since: started) > 30 || scheduler.hasEnded(within: 0) {
          throw BenchError("file \(seen) was not completed: \(Files.tail(scheduler.errors))")
        }
        usleep(100)
      }
    }

    private func size(of path: String) -> off_t {
      var facts = stat()
      return stat(path, &facts) == 0 ? facts.st_size : 0
    }
  }
}
