import Glibc
import LedgerPort
import LedgerSQLite
import Platform

/// `--check`: a few counts that show within a minute whether something became slower.
enum Check {
  /// The allowed excess of a count over its baseline, as a fraction.
  private static let tolerance = 0.15

  private struct Count: Sendable {
    var name: String
    /// At most so many are wanted. What is above is shown, and no failure.
    var goal: Double?
    var measure: @Sendable (InstructionCount) throws -> Double
  }

  private static let counts = [
    Count(name: "start: sluice version") { try $0.count("sluice", ["version"]) },
    Count(name: "coordinator: an attachment", goal: 330_000) { counter in
      try perPiece(100, 400) { try ingest($0, counter) }
    },
    Count(name: "ledger: take in, claim and end") { counter in
      try perPiece(1_000, 4_000) { try counter.count("sluice-bench", ["--probe", String($0)]) }
    },
    Count(name: "worker: mime, a PDF") { try worker("mime", [], $0) },
    Count(name: "worker: pdf, a PDF") { try worker("pdf", [], $0) },
    Count(name: "worker: text, a PDF") { try worker("text", ["--media-type", "application/pdf"], $0) },
    Count(name: "worker: store, a PDF") { try worker("store", ["--set", "path={attachmentId}"], $0) },
  ]

  /// - Returns: the exit code.
  static func run(update: Bool) throws -> Int32 {
    let counter: InstructionCount
    do {
      counter = try InstructionCount()
    } catch let skipped as Skipped {
      print("bench-check: skipped, \(skipped.reason)")
      return 0
    }
    var baselines = try Baselines()
    let known = baselines.known
    var isWell = true
    var counted: [String: Int] = [:]
    print(line("instructions", "now", "goal", "baseline", "change"))
    for count in counts {
      let value = try count.measure(counter)
      counted[count.name] = Int(value.rounded())
      var change = ""
      if let before = known?[count.name] {
        let ratio = value / Double(before) - 1
        change = (ratio < 0 ? "-" : "+") + Table.number(abs(ratio) * 100) + " %"
        if ratio > tolerance && !update {
          change += "  SLOWER"
          isWell = false
        } else if ratio < -tolerance && !update {
          change += "  faster: keep it, with --update"
        }
      }
      print(
        line(
          count.name, Table.number(value),
          count.goal.map { "\(value <= $0 ? "" : "above ")\(Table.number($0))" } ?? "",
          known?[count.name].map { Table.number(Double($0)) } ?? "none",
          change))
    }
    try counter.delete()
    if update {
      try baselines.write(counted)
    } else if known == nil {
      print("There is no baseline for \(baselines.key); `sluice-bench --check --update` writes one.")
    }
    return isWell ? 0 : 1
  }

  private static func line(
    _ name: String, _ now: String, _ goal: String, _ before: String, _ change: String
  ) -> String {
    func pad(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(width - text.count, 0))
    }
    return name + pad(name, 32) + pad(now, 12) + now + pad(goal, 16) + goal + pad(before, 12) + before + "  "
      + change
  }

  /// The cost of one more piece, without the start of the process.
  private static func perPiece(_ few: Int, _ many: Int, _ measure: (Int) throws -> Double) throws -> Double {
    (try measure(many) - measure(few)) / Double(many - few)
  }

  private static func worker(_ stage: String, _ options: [String], _ counter: InstructionCount) throws
    -> Double
  {
    let file = Settings.projectFolder + "/Plugins/pdf/fixtures/report.pdf"
    return try perPiece(10, 40) { try counter.count(worker: stage, options, file, times: $0) }
  }

  private static func ingest(_ count: Int, _ counter: InstructionCount) throws -> Double {
    let inbox = counter.path("inbox-\(count)")
    try Files.makeFolder(inbox)
    for index in 0..<count { try Files.write("the content of file \(index)\n", to: "\(inbox)/\(index).txt") }
    let home = counter.path("home-\(count)")
    let pipeline = try Sluice.pipeline("check", workers: 1)
    let value = try counter.count(
      "sluice",
      [
        "ingest", "--config", pipeline, "--home", home, "--participants", "a,b", "--sender", "a", "--quiet",
        inbox,
      ])
    guard try Sluice.lines(home + "/events.jsonl") == count else { throw BenchError("not \(count) events") }
    return value
  }

  /// `--probe`: the part of the ledger that is counted, in memory and without other processes.
  static func probe(_ count: Int) throws {
    let ledger = try SQLiteLedger(path: ":memory:")
    var request = Exchange(number: 1)
    let items = (0..<count).map { index in
      IntakeItem(
        conversationId: "c", messageId: nil, senderId: "a", participants: ["a", "b"],
        fileName: "\(index).txt",
        source: Array("/inbox/\(index).txt".utf8), sourceSize: 100, sourceModified: 1, origin: "bench")
    }
    request.commands = [.takeIn(items)]
    guard case .takenIn(let report) = try ledger.exchange(request).results.first else { return }
    var done = report.added
    ledger.rest(isIdle: false)
    var held: [Lease] = []
    repeat {
      request = Exchange(number: request.number + 1)
      request.settlements = held.map { BenchLedger.completed($0) }
      request.wanted = [Want(.attachments, 64)]
      done -= held.count
      held = try ledger.exchange(request).leases
      ledger.rest(isIdle: false)
    } while !held.isEmpty
    if done != 0 { throw BenchError("\(done) attachments did not end") }
  }
}
