import Glibc
import Platform

/// How long one file takes: through a scheduler that waits, and as a command of its own.
enum LatencyRows {
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
      let input = try Input.pdfs(1, under: "one")
      let pipeline = try Sluice.pipeline("latency")
      var times: [Double] = []
      for _ in 0...(settings.isQuick ? 5 : 20) {
        times.append(try Sluice.ingest(pipeline, home: ground.store("one"), input).seconds * 1e3)
      }
      return [TableRow("latency: ingest of one file", "ms", Array(times.dropFirst()), goal: .below(60))]
    }
  }

  /// From the transaction that takes a file in (its start, which is a sync before it is durable) until its event is in
  /// `events.jsonl`, which is written once the attachment's end is synced.
  private static func resident(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    for command in ["run", "enqueue"] {
      let help = try Child([Sluice.program, command, "--help"], out: Ground.output("help"))
      if try help.end().status != 0 { throw Skipped(reason: "this sluice has no `sluice \(command)`") }
    }
    let input = try Input.pdfs(settings.size(201, quick: 31), under: "latency")
    let home = ground.store("resident")
    let scheduler = try Child(
      [Sluice.program, "run", "--home", home, "--config", try Sluice.pipeline("latency")],
      out: Ground.output("run"))
    // Its first words: the queue is its own from then on.
    while try Files.bytes(scheduler.errors).isEmpty {
      if scheduler.hasEnded(within: 0.01) || scheduler.age > 60 {
        throw BenchError("sluice run does not begin: \(Files.tail(scheduler.errors))")
      }
    }
    var times: [Double] = []
    for (index, path) in try Files.list(input.folder).enumerated() {
      times.append(try one(path, home, scheduler, seen: index))
    }
    scheduler.signal(SIGTERM)
    try scheduler.end(as: 0, within: 60)
    // The first waits for workers to start.
    let series = Series(Array(times.dropFirst()))
    return [
      TableRow("latency: one file, resident", "ms", series.values, goal: .below(5)),
      TableRow("latency: one file, resident, p99", "ms", [series.quantile(0.99)], goal: .below(25)),
    ]
  }

  /// Milliseconds of one file. Files go one at a time: the scheduler has come to rest before the next.
  private static func one(_ path: String, _ home: String, _ scheduler: Child, seen: Int) throws -> Double {
    let events = home + "/events.jsonl"
    var facts = stat()
    let before = stat(events, &facts) == 0 ? facts.st_size : 0
    let enqueue = try Child(
      [Sluice.program, "enqueue", "--home", home, "--sender", "a", "--participants", "a,b", path],
      out: Ground.output("enqueue"))
    // Looked at often, without a whole processor: the other is the scheduler's and the worker's.
    while stat(events, &facts) != 0 || facts.st_size <= before {
      if enqueue.age > 30 || scheduler.hasEnded(within: 0) {
        throw BenchError(
          "file \(seen) was not completed: \(Files.tail(scheduler.errors)) \(Files.tail(enqueue.errors))")
      }
      usleep(100)
    }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    try enqueue.end(as: 0)
    guard try Sluice.lines(events) == seen + 1 else { throw BenchError("not one event for one file") }
    let end = Double(now.tv_sec) * 1e3 + Double(now.tv_nsec) / 1e6
    return end - Double(try Sluice.lastQueued(home))
  }
}
