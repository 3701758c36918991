import Glibc
import LedgerPort
import Platform

/// Webhooks to endpoints on this machine, from a ledger full of pending deliveries.
enum DeliveryRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("deliveries: one endpoint") { try one(settings, ground) }
    report.measure("deliveries: a dead endpoint") { try dead(settings, ground) }
  }

  private static func one(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let count = settings.size(10_000, quick: 2_000)
    var rates: [Double] = []
    var connections: [Double] = []
    var misordered: [Double] = []
    for round in 1...settings.rounds(atMost: 3) {
      let home = ground.store("deliveries")
      try fill(ground, home, channels: 1, recipients: 100, events: count / 100)
      ground.settleDisk()
      let receiver = try Receiver(endpoints: 1)
      defer { receiver.end() }
      let child = try start(ground, home, receiver.ports)
      try child.end(as: 0)
      let end = Clock.monotonic()
      let tally = receiver.tallies[0]
      guard tally.requests == count, tally.odd == 0, try due(home) == 0 else {
        throw BenchError("\(tally.requests) of \(count) events came, \(tally.odd) twice or odd")
      }
      // Until all are recorded as delivered.
      rates.append(Double(count) / (Double(end - tally.first) / 1e9))
      connections.append(Double(tally.connections))
      misordered.append(Double(tally.misordered))
      progress("deliveries, round \(round): \(Table.number(rates[round - 1]))/s")
    }
    let name = "deliveries: \(Table.number(Double(count))) webhooks"
    return [
      TableRow(name, "per s", rates, goal: .atLeast(5_000)),
      TableRow("\(name): connections", "", connections, goal: .atMost(32)),
      TableRow("\(name): out of a recipient's order", "", misordered, goal: .atMost(0)),
    ]
  }

  /// Nine endpoints that answer, alone and beside one that never does.
  private static func dead(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let each = settings.size(1_000, quick: 300)
    func rate(endpoints: Int) throws -> Double {
      let home = ground.store("deliveries")
      try fill(ground, home, channels: endpoints, recipients: 20, events: each / 20)
      ground.settleDisk()
      let receiver = try Receiver(endpoints: endpoints, dead: endpoints > 9 ? [9] : [])
      defer { receiver.end() }
      let child = try start(ground, home, receiver.ports)
      while receiver.tallies[..<9].contains(where: { $0.requests < each }) {
        if child.hasEnded(within: 0.01) || child.age > 120 { break }
      }
      let tallies = receiver.tallies[..<9]
      child.signal(SIGTERM)
      let ending = try child.end(within: 60)
      guard tallies.allSatisfy({ $0.requests == each && $0.odd == 0 && $0.misordered == 0 }),
        [0, 75].contains(ending.status)
      else {
        throw BenchError(
          "of \(each) events each \(tallies.map(\.requests)) came; sluice ended with \(ending.status): \(Files.tail(child.errors))"
        )
      }
      let first = tallies.map(\.first).min() ?? 0
      let last = tallies.map(\.last).max() ?? 0
      return Double(9 * each) / (Double(last - first) / 1e9)
    }
    var with: [Double] = []
    var without: [Double] = []
    for round in 1...settings.rounds(atMost: 3) {
      for isDead in round % 2 == 0 ? [true, false] : [false, true] {
        if isDead { with.append(try rate(endpoints: 10)) } else { without.append(try rate(endpoints: 9)) }
      }
      progress(
        "dead endpoint, round \(round): \(Table.number(with[round - 1])), \(Table.number(without[round - 1]))/s"
      )
    }
    return [
      TableRow(
        "deliveries: nine endpoints beside a dead one", "per s", with, "without it", without,
        goal: .atLeast(0.9))
    ]
  }

  // MARK: Pending deliveries

  /// Ends attachments with one event for each recipient and channel, numbered in their order.
  private static func fill(_ ground: Ground, _ home: String, channels: Int, recipients: Int, events: Int)
    throws
  {
    let input = ground.inputs + "/deliveries"
    try Files.makeFolder(input)
    for index in 0..<events { try Files.write("file \(index)\n", to: "\(input)/\(index).txt") }
    let text = String(repeating: "x", count: 300)
    try BenchLedger.at(home) { ledger in
      try ledger.takeIn(events, sources: .init(files: input))
      let ends = try ledger.exchange([], claiming: events).enumerated().map { index, lease in
        let event = OutgoingEvent(
          type: "attachment.completed", data: "{\"sequence\":\(index),\"text\":\"\(text)\"}",
          channels: (0..<channels).map { "hook\($0)" }, recipients: (0..<recipients).map { "r\($0)" })
        return BenchLedger.completed(lease, events: [event])
      }
      for start in stride(from: 0, to: ends.count, by: 50) {
        _ = try ledger.exchange(Array(ends[start..<min(start + 50, ends.count)]), claiming: 0)
      }
    }
  }

  private static func start(_ ground: Ground, _ home: String, _ ports: [UInt16]) throws -> Child {
    let nothing = ground.inputs + "/nothing"
    try Files.makeFolder(nothing)
    let names = ports.indices.map { "hook\($0)" }
    let secret = "whsec_c2x1aWNlIGJlbmNoLCBub3QgYSBzZWNyZXQgYXQgYWxs"
    let pipeline = try Sluice.pipeline(
      "deliveries",
      stages: [
        "use: mime, options: { allow: [\"*/*\"] }",
        "use: notify, options: { to: participants, channels: [\(names.joined(separator: ", "))] }",
      ],
      channels: zip(names, ports).map { name, port in
        "\(name): { use: webhook, options: { url: \"http://127.0.0.1:\(port)/\", secrets: [\(secret)], "
          + "allow-private: [127.0.0.1], timeout: 2s } }"
      })
    return try Sluice.start(pipeline, home: home, [nothing])
  }

  /// The number of jobs left.
  private static func due(_ home: String) throws -> Int {
    let connection = try Sluice.ledger(home)
    return Int(try connection.prepare("SELECT count(*) FROM jobs").first { $0.integer(0) } ?? -1)
  }
}
