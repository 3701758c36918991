import Glibc

/// Nine hosts that serve, alone and beside one that drops every packet.
enum DeadHostRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let each = settings.size(40, quick: 15)
    let name = "nine hosts beside a dead one, \(each) files of 300 KB each"
    report.measure(name) {
      let input = try Input.blobs(each, size: size, on: ground, under: "dead-host")
      let hosts = (2...10).map { "127.0.0.\($0)" }
      let server = try WebServer(
        input.folder, addresses: ["127.0.0.1"] + hosts, rate: Self.rate, isLogged: true)
      defer { try? server.end() }
      let dead = try DeadHost(at: 0x7F00_000B)
      let files = try Files.list(input.folder).compactMap { $0.split(separator: "/").last.map(String.init) }
      let links = files.flatMap { file in hosts.map { server.url(file, at: $0) } }
      // They are the oldest.
      let deadLinks = (0..<each).map { "http://127.0.0.11:\(dead.port)/\($0)" }
      let pipeline = try pipeline(hosts + ["127.0.0.11"])
      var with: [Double] = []
      var without: [Double] = []
      for round in 1...settings.rounds(atMost: 3) {
        for isDead in round % 2 == 0 ? [true, false] : [false, true] {
          ground.settleDisk()
          let rate = try rate(
            pipeline, home: ground.store("dead-host"), isDead ? deadLinks + links : links, links.count, server
          )
          if isDead { with.append(rate) } else { without.append(rate) }
        }
        progress(
          "\(name), round \(round): \(Table.number(with[round - 1])), \(Table.number(without[round - 1])) files/s"
        )
      }
      return [
        TableRow(
          name, "files/s", with, "without it", without, goal: .atLeast(0.9),
          remark: "each connection has 200 KB/s; eight connections, four to a host")
      ]
    }
  }

  private static let size = 300 << 10
  /// nginx sends as much at once as a second has.
  private static let rate = 200 << 10

  private static func pipeline(_ hosts: [String]) throws -> String {
    try Sluice.pipeline(
      "dead-host", stages: Sluice.standard.filter { !$0.contains("use: pdf") },
      lanes: [
        "downloads: { use: http, min-free: 1MB, options: { allow-private: [\(hosts.joined(separator: ", "))] } }"
      ])
  }

  /// Files a second of the hosts that serve, from the first request to the end of the last.
  private static func rate(
    _ pipeline: String, home: String, _ links: [String], _ count: Int, _ server: WebServer
  ) throws -> Double {
    let manifest = Ground.path + "/hosts.jsonl"
    try Files.write(
      links.enumerated().map { #"{"url":"\#($1)","messageId":"m\#($0)","fileName":"f\#($0)"}"# + "\n" }
        .joined(),
      to: manifest)
    let before = try server.answers().count
    let child = try Sluice.start(pipeline, home: home, ["--manifest", manifest])
    while try server.answers().count < before + count {
      if child.hasEnded(within: 0.1) || child.age > 300 { break }
    }
    let answers = try server.answers().dropFirst(before)
    child.signal(SIGTERM)
    let ending = try child.end(within: 60)
    guard answers.count == count, [0, 75].contains(ending.status),
      let begin = answers.map(\.begin).min(), let end = answers.map(\.end).max()
    else {
      throw BenchError(
        "\(answers.count) of \(count) files came; sluice ended with \(ending.status): \(Files.tail(child.errors))"
      )
    }
    return Double(count) / (end - begin)
  }
}
