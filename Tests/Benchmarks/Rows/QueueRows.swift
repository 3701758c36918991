import Glibc
import LedgerPort
import Platform
import SQLite

/// The queue with a thousand and with a million waiting attachments.
enum QueueRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let count = settings.size(1_000_000, quick: 100_000)
    let name = "queue of \(Table.number(Double(count)))"
    var large: String?
    var sources: BenchLedger.Sources?
    report.measure("queue: intake") {
      sources = try .init(
        files: Input.texts(1_000, size: 200, on: ground, under: "queue").folder, paths: count)
      guard let sources else { return [] }
      let path = ground.store("million")
      progress("queueing \(count) attachments")
      let rate = try BenchLedger.at(path) { ledger in
        ground.settleDisk()
        let started = Clock.monotonic()
        try ledger.takeIn(count, sources: sources)
        return Double(count) / seconds(since: started)
      }
      large = path
      return [TableRow("\(name): intake", "rows/s", [rate], goal: .atLeast(50_000))]
    }
    guard let large, let sources else { return }
    report.measure("\(name): claim and finish") { try cost(settings, ground, name, large, sources) }
    report.measure("queue: durable transitions") { try transitions(settings, ground, sources) }
    report.measure("\(name): sluice status") { try status(settings, name, large) }
    report.measure("\(name): recovery") { try recovery(settings, ground, name, large) }
  }

  static func seconds(since start: UInt64) -> Double { Double(Clock.monotonic() - start) / 1e9 }

  // MARK: The ledger alone

  /// The cost of claiming 64 attachments and ending them in one transaction, beside the same in a short
  /// queue.
  private static func cost(
    _ settings: Settings, _ ground: Ground, _ name: String, _ large: String, _ sources: BenchLedger.Sources
  ) throws -> [TableRow] {
    let batch = 64
    let batches = 32
    func round(_ ledger: BenchLedger, filling: Int) throws -> Double {
      try ledger.takeIn(filling, sources: sources)
      ground.settleDisk()
      var held = try ledger.exchange([], claiming: batch)
      var times: [Double] = []
      for _ in 0..<batches {
        let started = Clock.monotonic()
        let next = try ledger.exchange(held.map { BenchLedger.completed($0) }, claiming: batch)
        times.append(seconds(since: started) / Double(batch) * 1e6)
        guard next.count == batch else { throw BenchError("\(next.count) of \(batch) jobs were claimed") }
        held = next
      }
      _ = try ledger.exchange(held.map { BenchLedger.completed($0) }, claiming: 0)
      return Series(times).median
    }
    var many: [Double] = []
    var few: [Double] = []
    for number in 1...settings.rounds() {
      for isLarge in number % 2 == 0 ? [true, false] : [false, true] {
        if isLarge {
          many.append(try BenchLedger.at(large) { try round($0, filling: 0) })
        } else {
          let jobs = 1_000 + (batches + 1) * batch
          few.append(try BenchLedger.at(ground.store("thousand")) { try round($0, filling: jobs) })
        }
      }
      progress(
        "claim and finish, round \(number): \(Table.number(many[number - 1])), \(Table.number(few[number - 1])) us"
      )
    }
    let later = try beside(
      large,
      waitingForLater: {
        try BenchLedger.at(large) { try round($0, filling: 0) }
      },
      rounds: settings.rounds())
    return [
      TableRow("\(name): claim and finish", "us a job", many, "1,000 waiting", few, goal: .atMost(1.2)),
      TableRow(
        "\(name): the same, all waiting for later", "us a job", later, "1,000 waiting", few,
        goal: .atMost(1.2)),
    ]
  }

  /// Measures while all but what is claimed waits for later.
  private static func beside(
    _ home: String, waitingForLater measure: () throws -> Double, rounds: Int
  ) throws -> [Double] {
    func change(_ sql: String) throws { try Connection(home + "/sluice.db").execute(sql) }
    progress("scheduling what waits")
    try change(
      """
      UPDATE jobs SET state = 'scheduled', due_at = due_at + 1000000000
      WHERE state = 'due' AND kind = 'attachment'
        AND subject > (SELECT subject FROM jobs WHERE state = 'due' AND kind = 'attachment' ORDER BY subject LIMIT 1 OFFSET 20000)
      """)
    defer {
      try? change("UPDATE jobs SET state = 'due', due_at = due_at - 1000000000 WHERE state = 'scheduled'")
    }
    return try (0..<rounds).map { _ in try measure() }
  }

  /// The scheduler's group commit, with stages that do nothing: while one transaction syncs, the jobs claimed
  /// by the one before finish, and are settled with the next. Each job is claimed and settled: two
  /// transitions.
  private static func transitions(
    _ settings: Settings, _ ground: Ground, _ sources: BenchLedger.Sources
  ) throws -> [TableRow] {
    let count = settings.size(40_000, quick: 10_000)
    var rates: [Double] = []
    for _ in 1...settings.rounds(atMost: 3) {
      let (done, time) = try BenchLedger.at(ground.store("transitions")) { ledger in
        try ledger.takeIn(count, sources: sources)
        ground.settleDisk()
        let started = Clock.monotonic()
        var done = 0
        var finished: [Lease] = []
        var held: [Lease] = []
        repeat {
          let claimed = try ledger.exchange(finished.map { BenchLedger.completed($0) }, claiming: 128)
          done += finished.count
          finished = held
          held = claimed
        } while !finished.isEmpty || !held.isEmpty
        return (done, seconds(since: started))
      }
      if done != count { throw BenchError("\(done) of \(count) jobs were done") }
      rates.append(Double(2 * done) / time)
    }
    return [TableRow("queue: durable transitions", "per s", rates, goal: .atLeast(20_000))]
  }

  // MARK: The program on that home

  private static func status(_ settings: Settings, _ name: String, _ home: String) throws -> [TableRow] {
    var times: [Double] = []
    for _ in 0..<(settings.isQuick ? 5 : 20) {
      let child = try Child(
        [Sluice.program, "status", "--home", home, "--format", "json"], out: Ground.output("status"))
      times.append(try child.end(as: 0).seconds * 1e3)
      _ = try Sluice.queued(child)
    }
    return [TableRow("\(name): sluice status", "ms", times, goal: .atMost(50))]
  }

  /// Kills a coordinator in the middle of its work, and lets another take over.
  private static func recovery(
    _ settings: Settings, _ ground: Ground, _ name: String, _ home: String
  ) throws -> [TableRow] {
    let pipeline = try Sluice.pipeline("queue")
    let nothing = ground.inputs + "/nothing"
    try Files.makeFolder(nothing)
    let before = try queued(home)
    var times: [Double] = []
    for round in 1...settings.rounds(atMost: 3) {
      let killed = try Sluice.start(pipeline, home: home, [nothing], json: true)
      _ = try firstEnd(killed)
      if killed.hasEnded(within: 0.5) {
        throw BenchError("it ended before it was killed: \(Files.tail(killed.errors))")
      }
      killed.signal(SIGKILL)
      _ = try killed.end()
      let next = try Sluice.start(pipeline, home: home, [nothing], json: true)
      times.append(try firstEnd(next) * 1e3)
      next.signal(SIGTERM)
      try next.end(as: 75)
      progress("recovery, round \(round): \(Table.number(times[round - 1])) ms")
    }
    let (peak, rate) = try work(pipeline, home, nothing, for: settings.isQuick ? 3 : 10)
    guard try queued(home) < before else { throw BenchError("nothing of the queue was done") }
    return [
      TableRow("\(name): first end after kill -9", "ms", times, goal: .below(1_000)),
      TableRow(
        "\(name): coordinator's peak memory", "MiB", [Double(peak) / 1_048_576], goal: .below(96),
        remark: "at work for some seconds, at \(Table.number(rate)) attachments/s"),
    ]
  }

  private static func queued(_ home: String) throws -> Int {
    let child = try Child(
      [Sluice.program, "status", "--home", home, "--format", "json"], out: Ground.output("status"))
    try child.end(as: 0)
    return try Sluice.queued(child)
  }

  /// Seconds from the start of an ingest until it reports the first ended attachment.
  private static func firstEnd(_ child: Child) throws -> Double {
    while child.age < 60 {
      if try Files.bytes(child.out).contains(UInt8(ascii: "\n")) { return child.age }
      if child.hasEnded(within: 0.001) { break }
    }
    throw BenchError("no attachment ended: \(Files.tail(child.errors))")
  }

  private static func work(
    _ pipeline: String, _ home: String, _ nothing: String, for limit: Double
  ) throws -> (peak: Int64, rate: Double) {
    let before = try queued(home)
    let child = try Sluice.start(pipeline, home: home, [nothing])
    var peak: Int64 = 0
    while child.age < limit, !child.hasEnded(within: 0.02) { peak = max(peak, child.peakMemory ?? 0) }
    child.signal(SIGTERM)
    while !child.hasEnded(within: 0.005) { peak = max(peak, child.peakMemory ?? 0) }
    let ending = try child.end(as: 75)
    return (peak, Double(before - (try queued(home))) / ending.seconds)
  }
}
