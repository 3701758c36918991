import Glibc

/// The verbs and the filters on a ledger with a million attachments that have ended, a tenth of them rejected.
enum VerbRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let count = settings.size(1_000_000, quick: 100_000)
    report.measure("verbs on \(Table.number(Double(count)))") {
      let home = ground.store("verbs")
      try ReportRows.fill(ground, home, count)
      return try lists(settings, home, count) + changes(home, count)
    }
  }

  /// A filter each, with one that nothing answers to where everything has to be looked at.
  private static let filters: [[String]] = [
    [], ["--status", "completed"], ["--status", "rejected"], ["--status", "queued"], ["--code", "encrypted"],
    ["--stage", "pdf"], ["--type", "image/*"], ["--type", "audio/*"], ["--conversation", "nobody"],
    ["--message", "nothing"], ["--code", "encrypted,pdf-damaged"],
    ["--name", "none-*"], ["--since", "1m"], ["--until", "2020-01-31"],
    ["--sha256", String(repeating: "0", count: 64)],
    ["--status", "rejected", "--code", "encrypted", "--type", "video/*"],
  ]

  private static func lists(_ settings: Settings, _ home: String, _ count: Int) throws -> [TableRow] {
    try filters.map { filter in
      var times: [Double] = []
      for _ in 1...settings.rounds(atMost: 5) {
        let words = ["list", "--home", home, "--limit", "50"] + filter
        times.append(
          try Child([Sluice.program] + words, out: Ground.output("list")).end(as: 0).seconds * 1000)
      }
      let name =
        filter.isEmpty ? "no filter" : filter.map { $0.count > 20 ? "0…" : $0 }.joined(separator: " ")
      return TableRow("list of \(Table.number(Double(count))), \(name)", "ms", times, goal: .atMost(100))
    }
  }

  private static func changes(_ home: String, _ count: Int) throws -> [TableRow] {
    let tenth = count / 10
    func rate(_ words: [String]) throws -> Double {
      let child = try Child([Sluice.program] + words + ["--home", home], out: Ground.output("verb"))
      return Double(tenth) / (try child.end(as: 0).seconds)
    }
    let name = "\(Table.number(Double(tenth))) of \(Table.number(Double(count)))"
    let retried = try rate(["retry", "--status", "rejected"])
    let prioritized = try rate(["prioritize", "--status", "queued", "--priority", "1"])
    // With an object each; the file is written anew at the end.
    let deleted = try rate(["delete", "--status", "completed", "--limit", String(tenth)])
    return [
      TableRow("retry \(name)", "/s", [retried], goal: .atLeast(10_000)),
      TableRow("prioritize \(name)", "/s", [prioritized], goal: .atLeast(10_000)),
      TableRow("delete \(name)", "/s", [deleted], goal: .atLeast(10_000)),
    ]
  }
}
