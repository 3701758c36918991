import Glibc
import Platform

/// Links from a server on this machine, beside programs that only download.
///
/// Sluice hashes, asks libmagic, stores and tells, keeps each in its ledger, and syncs all of it. The others sync nothing, hash
/// nothing, and ask for every file again after a kill.
enum DownloadRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let large = (count: settings.size(8, quick: 4), size: 50 << 20, name: "links of 50 MB")
    let small = (count: settings.size(2_000, quick: 500), size: 100 << 10, name: "links of 100 KB")
    for (what, goals) in [(large, [Peer.aria2: 0.9]), (small, [.aria2: 0.8])] {
      for peer in Peer.allCases {
        report.measure("\(what.name) beside \(peer.rawValue)") {
          let input = try Input.blobs(what.count, size: what.size, on: ground, under: "links-\(what.size)")
          return [
            try compare(
              settings, ground, input, peer, goals[peer], "\(what.name), \(Table.number(Double(what.count)))")
          ]
        }
      }
    }
  }

  enum Peer: String, CaseIterable {
    case aria2, curl
  }

  /// Transfers at once, of each program.
  private static let connections = 16

  private static func compare(
    _ settings: Settings, _ ground: Ground, _ input: Input, _ peer: Peer, _ goal: Double?, _ name: String
  ) throws -> TableRow {
    let program = peer == .aria2 ? "aria2c" : "curl"
    guard let path = Settings.program(program) else {
      throw Skipped(reason: "no \(program); install \(peer.rawValue)")
    }
    let server = try WebServer(input.folder)
    defer { try? server.end() }
    let files = try Files.list(input.folder).compactMap { $0.split(separator: "/").last.map(String.init) }
    let manifest = Ground.path + "/links.jsonl"
    try Files.write(
      files.map { #"{"url":"\#(server.url($0))","messageId":"\#($0)","fileName":"\#($0)"}"# + "\n" }.joined(),
      to: manifest)
    let list = Ground.path + "/links.list"
    try Files.write(files.map { line($0, server, peer) }.joined(), to: list)
    let pipeline = try Sluice.pipeline(
      "links", stages: Sluice.standard.filter { !$0.contains("use: pdf") },
      lanes: ["downloads: { \(lane(connections)) }"])
    var comparison = Comparison(name, peer.rawValue, input)
    try comparison.run(settings, ground) {
      try Sluice.fetch(pipeline, home: $0, manifest, input)
    } other: {
      try run([path] + words(peer, list, $0), input, store: $0)
    }
    let remark = "\(peer.rawValue): \(connections) at once; nothing is synced or hashed"
    return input.bytes / Int64(input.count) > 1 << 20
      ? comparison.rate("MB/s", Int(input.bytes >> 20), goal: goal, remark: remark)
      : comparison.rate("files/s", input.count, goal: goal, remark: remark)
  }

  /// The settings of a lane that fetches from this machine.
  static func lane(_ connections: Int) -> String {
    "use: http, connections: \(connections), per-host: \(connections), max-size: 100MB, min-free: 1MB, "
      + "options: { allow-private: [127.0.0.1] }"
  }

  private static func line(_ file: String, _ server: WebServer, _ peer: Peer) -> String {
    peer == .aria2 ? server.url(file) + "\n" : "url = \"\(server.url(file))\"\noutput = \"\(file)\"\n"
  }

  private static func words(_ peer: Peer, _ list: String, _ store: String) -> [String] {
    switch peer {
    case .aria2:
      [
        "--no-conf", "--quiet", "--file-allocation=none", "-j\(connections)", "-x1", "-s1", "--dir", store,
        "-i", list,
      ]
    case .curl:
      [
        "-q", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", "\(connections)",
        "--output-dir", store, "--create-dirs", "--config", list,
      ]
    }
  }

  /// Runs a peer, and checks that it has all of the input.
  private static func run(_ words: [String], _ input: Input, store: String) throws -> Ending {
    let child = try Child(words, out: Ground.output("peer"))
    let ending = try child.end(as: 0)
    var count = 0
    var bytes: Int64 = 0
    try Files.walk(store) { _, facts in
      count += 1
      bytes += Int64(facts.st_size)
    }
    guard count == input.count, bytes == input.bytes else {
      throw BenchError(
        "\(words[0]) has \(count) of \(input.count) files, \(bytes) bytes: \(Files.tail(child.errors))")
    }
    return ending
  }
}
