import Platform

/// A command line for an odd environment: mostly sensible, sometimes not.
struct OddCommand: Sendable {
  var words: [String]
  /// It prints its results on standard output.
  var prints: Bool
  /// It works until it is told to stop.
  var isResident = false
  var takesHome = false
  /// One of its files is a FIFO, which another process has to write to.
  var usesPipe: Bool { words.contains { $0 == "pipe" } }

  static func drawn(_ random: inout SplitMix) -> OddCommand {
    var command = kinds[Int.random(in: 0..<kinds.count, using: &random)](&random)
    // Wrong words among the right ones.
    if Int.random(in: 0..<12, using: &random) == 0 {
      let wrong = ["--nonsense", "\u{1B}[2J", "", "--format=xml", "--home", "-", "ünïcödé\u{202E}", "--help"]
      command.words.append(Oddity.one(wrong, &random))
      command.prints = false
    }
    return command
  }

  /// Each verb, with sensible arguments.
  static var plain: [OddCommand] {
    let intakes = [
      ["ingest", "in", "more"], ["enqueue", "more"], ["ingest", "--manifest", "manifest.jsonl"],
    ]
    return homes.map { OddCommand(words: $0.0, prints: $0.1, takesHome: true) }
      + free.map { OddCommand(words: $0.0, prints: $0.1) }
      + intakes.map { OddCommand(words: $0, prints: true, takesHome: true) }
      + [OddCommand(words: ["run"], prints: false, isResident: true, takesHome: true)]
  }

  private typealias Kind = @Sendable (inout SplitMix) -> OddCommand

  private static func format(_ random: inout SplitMix) -> [String] {
    Bool.random(using: &random) ? [] : ["--format", "json"]
  }

  private static let homes: [([String], Bool)] = [
    (["status"], true), (["list"], true), (["list", "--status", "completed"], true), (["show", "ID"], true),
    (["show", "01"], false), (["verify"], true), (["verify", "--repair"], true),
    (["verify", "--sample", "2", "--quiet"], false), (["backup", "copy.db"], true),
    (["backup", "-f", "in/a.txt"], true), (["backup", "nowhere/copy.db"], false), (["backup", "in"], false),
    (["replay", "--config", "pipeline.yaml"], true), (["replay", "ID", "--config", "pipeline.yaml"], true),
  ]

  private static let free: [([String], Bool)] = [
    (["lint", "pipeline.yaml"], true), (["graph", "pipeline.yaml"], true), (["schema"], true),
    (["stages", "list"], true), (["stages", "list", "odd", "pdf"], true),
    (["stages", "inspect", "pdf"], true),
    (["stages", "inspect", "odd-plugins/libsluice-odd.so"], false), (["stages", "doctor"], true),
    (["stages", "doctor", "odd-plugins/libsluice-odd.so"], true),
    (["stages", "check", "size"], true),
    (["stages", "run", "size", "in/a.txt"], true), (["stages", "run", "mime", "in/a.txt", "-"], true),
    (["stages", "run", "store", "--set", "path=x/{sha256}", "in/b.pdf"], true),
    (["stages", "run", "pdf", "in/b.pdf", "--repeat", "3"], true),
    (["stages", "run", "size", "--trace", "in", "missing", "/dev/null"], true),
    (["stages", "new", "made"], true), (["stages", "new", "made", "--language", "c"], true),
    (["test", "cases.yaml"], true), (["test", "cases.yaml", "--format", "junit"], true),
    (["test", "in"], false), (["doctor"], true), (["version"], true), (["completions", "bash"], true),
    (["completions", "fish"], true), (["--help"], true), (["ingest", "--help"], true), ([], true),
  ]

  /// Arguments of a command that takes files in.
  private static func input(_ random: inout SplitMix) -> [String] {
    let choices: [[String]] = [
      ["in"], ["in", "more"], ["more/c.txt"], ["more"], ["missing", "more"], ["/dev/null", "more"], ["pipe"],
      ["unreadable", "more"], [""], [String(repeating: "n", count: 300), "more"], ["two\nlines\u{1B}[2J"],
      ["--manifest", "manifest.jsonl"], ["--manifest", "nonsense.jsonl"], ["--manifest", "in"],
      ["--manifest", "missing"], ["--manifest", "-"], ["--manifest", "pipe"], ["--manifest", "/dev/null"],
      ["--manifest", "unreadable"],
    ]
    return Oddity.one(Bool.random(using: &random) ? Array(choices[..<4]) : choices, &random)
  }

  private static func pipeline(_ random: inout SplitMix) -> [String] {
    let odd = [
      "missing.yaml", "garbage.yaml", "in", "/dev/null", "unreadable", "/dev/zero", "in/b.pdf", "pipe", "",
    ]
    return [
      "--config", Int.random(in: 0..<5, using: &random) == 0 ? Oddity.one(odd, &random) : "pipeline.yaml",
    ]
  }

  private static let kinds: [Kind] = [
    { random in
      let quiet = Int.random(in: 0..<4, using: &random) == 0 ? ["--quiet"] : []
      return OddCommand(
        words: ["ingest", "--participants", "ann,ben"] + pipeline(&random) + format(&random) + quiet
          + input(&random), prints: true, takesHome: true)
    },
    { random in
      OddCommand(
        words: ["enqueue", "--sender", "ann"] + format(&random) + input(&random), prints: true,
        takesHome: true)
    },
    { random in
      OddCommand(
        words: ["run"] + pipeline(&random) + format(&random), prints: false, isResident: true, takesHome: true
      )
    },
    { random in
      let (words, prints) = Oddity.one(homes, &random)
      let takesFormat = words != ["verify", "--sample", "2", "--quiet"]
      return OddCommand(
        words: words + (takesFormat ? format(&random) : []), prints: prints, takesHome: true)
    },
    { random in
      let (words, prints) = Oddity.one(homes, &random)
      return OddCommand(words: words, prints: prints, takesHome: true)
    },
    { random in
      let (words, prints) = Oddity.one(free, &random)
      return OddCommand(words: words, prints: prints)
    },
    { random in
      let verb = Oddity.one(["lint", "graph", "schema", "stages list", "doctor"], &random)
      return OddCommand(words: verb.split(separator: " ").map(String.init) + pipeline(&random), prints: false)
    },
  ]
}
