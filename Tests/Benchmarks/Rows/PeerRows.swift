import Glibc
import Platform

/// Alternatives that people use: the same work on the same files with two processes.
///
/// The peers have an easier task: they sync once, at the end, and cannot resume after being killed.
enum PeerRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let files = settings.size(3_000, quick: 600)
    report.measure("against the Pool script") {
      let peer = Peer(
        name: "Pool script", goal: 1.3, words: try python("pool.py"),
        remark: "if it is killed, it starts again")
      return try compare(settings, ground, peer, settings.size(4_000, quick: 1_200))
    }
    report.measure("against Huey") {
      let peer = Peer(
        name: "Huey", goal: 3, words: try python("huey_queue.py"), remark: "a task that is killed is lost")
      return try compare(settings, ground, peer, files)
    }
    report.measure("against GNU parallel") {
      let peer = Peer(
        name: "GNU parallel", goal: nil, words: try tools("parallel.sh"),
        remark: "the tools once for each file"
      )
      return try compare(settings, ground, peer, settings.size(300, quick: 100))
    }
    report.measure("against a shell script, a file at a time") {
      let peer = Peer(
        name: "shell", goal: 15, words: try tools("shell.sh") + ["1"], remark: "a transaction for each file")
      return try compare(settings, ground, peer, settings.size(800, quick: 100))
    }
    report.measure("against a shell script, in batches") {
      let peer = Peer(
        name: "shell in batches", goal: nil, words: try tools("shell.sh") + ["64"],
        remark: "the tools and the transaction once for 64 files")
      return try compare(settings, ground, peer, settings.size(900, quick: 200))
    }
  }

  private struct Peer {
    var name: String
    /// The factor of files per second that Sluice has to reach.
    var goal: Double?
    /// The program and its arguments, to be followed by input and output.
    var words: [String]
    var remark: String
  }

  private static func compare(_ settings: Settings, _ ground: Ground, _ peer: Peer, _ count: Int) throws
    -> [TableRow]
  {
    let input = try Input.pdfs(count, on: ground, under: "peers-\(count)")
    let pipeline = try Sluice.pipeline("peers", workers: 2)
    var comparison = Comparison("the whole mix, \(Table.number(Double(count)))", peer.name, input)
    try comparison.run(settings, ground) {
      try Sluice.ingest(pipeline, home: $0, input)
    } other: {
      try run(peer, input, store: $0)
    }
    return [
      comparison.rate(
        "files/s", input.count, goal: peer.goal,
        remark: "\(peer.name): synced once, at its end; \(peer.remark)")
    ]
  }

  /// Runs a peer, and checks that it has stored all of the input.
  private static func run(_ peer: Peer, _ input: Input, store: String) throws -> Ending {
    let child = try Child(peer.words + [input.folder, store], out: Ground.output("peer"))
    var ending = try child.end(as: 0)
    let said = try Files.text(child.out)
    var files = 0
    try Files.walk(store + "/documents") { _, facts in files += facts.st_size > 0 ? 1 : 0 }
    guard stored(said) == input.count, files == input.count else {
      throw BenchError(
        "\(peer.name) stored \(files) of \(input.count) files: \(said) \(Files.tail(child.errors))")
    }
    ending.seconds = seconds(said) ?? ending.seconds
    return ending
  }

  // MARK: The peers

  private static let scripts = Settings.benchmarks + "/peers"

  /// A script that calls tools of the system's.
  private static func tools(_ script: String) throws -> [String] {
    for (tool, package) in [
      ("pdfinfo", "poppler-utils"), ("sqlite3", "sqlite3"), ("file", "file"), ("xargs", "findutils"),
    ] where Settings.program(tool) == nil {
      throw Skipped(reason: "no \(tool); install \(package)")
    }
    if script.hasPrefix("parallel"), Settings.program("parallel") == nil {
      throw Skipped(reason: "no parallel; install parallel")
    }
    return [scripts + "/" + script]
  }

  /// A script in a Python environment of its own below the bench's folder, with the packages that the scripts import.
  private static func python(_ script: String) throws -> [String] {
    let folder = Ground.path + "/venv"
    let python = folder + "/bin/python"
    if !hasPackages(python) {
      guard let system = Settings.program("python3") else { throw Skipped(reason: "no python3") }
      progress("installing Huey, python-magic and pypdfium2 in \(folder)")
      try install([system, "-m", "venv", folder])
      try install([folder + "/bin/pip", "install", "--quiet", "huey", "python-magic", "pypdfium2"])
      guard hasPackages(python) else {
        throw Skipped(reason: "Huey, python-magic and pypdfium2 are installed and do not load")
      }
    }
    return [python, scripts + "/" + script]
  }

  private static func hasPackages(_ python: String) -> Bool {
    guard Files.exists(python) else { return false }
    let words = [python, "-c", "import huey, magic, pypdfium2"]
    return (try? Child(words, out: Ground.output("python")).end(as: 0)) != nil
  }

  private static func install(_ words: [String]) throws {
    let child = try Child(words, out: Ground.output("pip"))
    guard try child.end(within: 300).status == 0 else {
      throw Skipped(reason: "\(words.joined(separator: " ")): \(Files.tail(child.errors))")
    }
  }

  /// The number of objects that the peer reports: `N|contents`, or JSON.
  private static func stored(_ said: String) -> Int? {
    Int(said.drop { !$0.isNumber }.prefix(while: \.isNumber))
  }

  /// If a peer reports the time of its work, that time counts, because its exit may take longer.
  private static func seconds(_ said: String) -> Double? {
    said.range(of: "\"seconds\":").flatMap {
      Double(said[$0.upperBound...].prefix { $0.isNumber || $0 == "." })
    }
  }
}
