import Platform

/// Alternatives that people use: the same work on the same files with two processes.
///
/// The peers have an easier task: they sync once, at the end, and cannot resume after being killed.
enum PeerRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let files = settings.size(3_000, quick: 600)
    report.measure("peers: shell, a file at a time") {
      let peer = Peer(
        name: "shell", goal: 15, words: try shell + ["1"], remark: "a transaction for each file")
      return try compare(settings, ground, peer, settings.size(1_500, quick: 300))
    }
    report.measure("peers: shell, in batches") {
      let peer = Peer(
        name: "shell in batches", goal: nil, words: try shell + ["64"],
        remark: "the tools and the transaction once for 64 files")
      return try compare(settings, ground, peer, files)
    }
    report.measure("peers: Huey") {
      let peer = Peer(name: "Huey", goal: 3, words: try huey, remark: "a task that is killed is lost")
      return try compare(settings, ground, peer, files)
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
    let input = try Input.pdfs(count, under: "peers-\(count)")
    let pipeline = try Sluice.pipeline("peers", workers: 2)
    let name = "\(Table.number(Double(input.count))) PDFs, two processes, against \(peer.name)"
    var ours: [Double] = []
    var theirs: [Double] = []
    for round in 1...settings.rounds(atMost: 3) {
      for isSluice in round % 2 == 0 ? [true, false] : [false, true] {
        try ground.settle(reading: input.folder)
        if isSluice {
          let ending = try Sluice.ingest(pipeline, home: ground.store("sluice"), input)
          ours.append(Double(input.count) / ending.seconds)
        } else {
          let store = ground.store("peer")
          let child = try Child(peer.words + [input.folder, store], out: Ground.output("peer"))
          let ending = try child.end(as: 0)
          let said = try Files.text(child.out)
          var files = 0
          try Files.walk(store + "/documents") { _, facts in files += facts.st_size > 0 ? 1 : 0 }
          guard stored(said) == input.count, files == input.count else {
            throw BenchError(
              "\(peer.name) stored \(files) of \(input.count) files: \(said) \(Files.tail(child.errors))")
          }
          theirs.append(Double(input.count) / (seconds(said) ?? ending.seconds))
        }
      }
      progress(
        "\(name), round \(round): \(Table.number(ours[round - 1])) and \(Table.number(theirs[round - 1])) files/s"
      )
    }
    return [
      TableRow(
        name, "files/s", ours, peer.name, theirs, goal: peer.goal.map { .atLeast($0) },
        remark: "\(peer.name): synced once, at its end; \(peer.remark)")
    ]
  }

  // MARK: The peers

  private static let scripts = Settings.benchmarks + "/peers"

  private static var shell: [String] {
    get throws {
      for (tool, package) in [
        ("pdfinfo", "poppler-utils"), ("sqlite3", "sqlite3"), ("file", "file"), ("xargs", "findutils"),
      ] where Settings.program(tool) == nil {
        throw Skipped(reason: "no \(tool); install \(package)")
      }
      return [scripts + "/shell.sh"]
    }
  }

  /// A separate Python environment below the bench's folder, with the queue's packages.
  private static var huey: [String] {
    get throws {
      let folder = Ground.path + "/venv"
      let python = folder + "/bin/python"
      if !hasPackages(python) {
        guard let system = Settings.program("python3") else { throw Skipped(reason: "no python3") }
        progress("installing Huey, python-magic and pypdfium2 in \(folder)")
        try install([system, "-m", "venv", folder])
        try install([folder + "/bin/pip", "install", "--quiet", "huey", "python-magic", "pypdfium2"])
        guard hasPackages(python) else { throw Skipped(reason: "Huey is installed and does not load") }
      }
      return [python, scripts + "/huey_queue.py"]
    }
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
