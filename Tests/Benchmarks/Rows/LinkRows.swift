import LedgerPort
import Pipeline
import Platform

/// The queue of downloads with a thousand and with a million waiting links.
enum LinkRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let count = settings.size(1_000_000, quick: 100_000)
    for order in Order.allCases {
      let name = "\(Table.number(Double(count))) links wait, \(order.rawValue)"
      report.measure(name) { try row(settings, ground, name, order, count) }
    }
    let name = "\(Table.number(Double(count))) links wait until somebody asks"
    report.measure(name) { try asideRow(settings, ground, name, count) }
  }

  /// Which hosts the links are of, from the oldest on.
  enum Order: String, CaseIterable {
    case inTurn = "of 100 hosts in turn"
    /// Nine tenths are of one host: the others are far behind it. In a short queue there are as many of these as are claimed.
    case oneFirst = "most of one host"

    func host(_ index: Int, of count: Int) -> Int {
      switch self {
      case .inTurn: index % 100
      case .oneFirst: index < count - max(count / 10, 1000) ? 0 : 1 + index % 10
      }
    }
  }

  /// As the scheduler asks for eight connections, four to a host.
  private static let want = Want(.downloads, 16, hosts: HostShares(6))
  private static let claims = 64

  /// The time of an exchange that claims, beside the same in a short queue.
  private static func row(
    _ settings: Settings, _ ground: Ground, _ name: String, _ order: Order, _ count: Int
  ) throws -> [TableRow] {
    progress("queueing \(count) links")
    let large = ground.store("links")
    let started = Clock.monotonic()
    try BenchLedger.at(large, seals: true) { try $0.takeIn(links: count, order.host) }
    let intake = Double(count) / QueueRows.seconds(since: started)
    var many: [Times] = []
    var few: [Times] = []
    for round in 1...settings.rounds() {
      for isLarge in round % 2 == 0 ? [true, false] : [false, true] {
        ground.settleDisk()
        if isLarge {
          many.append(try BenchLedger.at(large, seals: true) { try claim($0) })
        } else {
          // As many as are fetched, and a thousand.
          few.append(
            try BenchLedger.at(ground.store("few-links"), seals: true) {
              try $0.takeIn(links: 1000 + claims * want.count, order.host)
              return try claim($0)
            })
        }
      }
      progress(
        "\(name), round \(round): \(Table.number(many[round - 1].claim)), \(Table.number(few[round - 1].claim)) us"
      )
    }
    return [
      TableRow(
        "\(name): claim", "us", many.map(\.claim), "1,000 waiting", few.map(\.claim), goal: .atMost(1.2)),
      TableRow(
        "\(name): settlement", "us", many.map(\.settlement), "1,000 waiting", few.map(\.settlement), goal: nil
      ),
      TableRow("\(name): intake", "rows/s", [intake], goal: nil),
    ]
  }

  /// With `prefetch: { messages: 50 }`.
  private static let newest = Want(.downloads, 16, hosts: HostShares(6), prefetch: 50)

  /// The time of a claim beside many links that are not fetched by themselves, and beside a thousand.
  private static func asideRow(
    _ settings: Settings, _ ground: Ground, _ name: String, _ count: Int
  ) throws -> [TableRow] {
    let (large, small) = (ground.store("links-aside"), ground.store("few-links-aside"))
    for (place, count) in [(large, count), (small, 1000)] {
      progress("putting \(count) links aside")
      try BenchLedger.at(place, seals: true) { try putAside(count, $0) }
    }
    var many: [Double] = []
    var few: [Double] = []
    for round in 1...settings.rounds() {
      for isLarge in round % 2 == 0 ? [true, false] : [false, true] {
        ground.settleDisk()
        let time = try BenchLedger.at(isLarge ? large : small, seals: true) {
          try claimNew($0, "round-\(round)-").claim
        }
        if isLarge { many.append(time) } else { few.append(time) }
      }
      progress(
        "\(name), round \(round): \(Table.number(many[round - 1])), \(Table.number(few[round - 1])) us")
    }
    return [TableRow("\(name): claim", "us", many, "1,000 waiting so", few, goal: .atMost(1.2))]
  }

  /// Takes in links of one conversation, and claims until all but the newest are put aside.
  static func putAside(_ count: Int, _ ledger: BenchLedger) throws {
    try ledger.takeIn(links: count, conversations: .max, named: "old-", Order.inTurn.host)
    // A coordinator that begins looks at them all once more, some with each claim.
    for _ in 0..<(count / 250 + 20) {
      _ = try ledger.exchange(try ledger.exchange([], wanting: newest).map(fetched), wanting: nil)
    }
  }

  /// Claims new links of other conversations, once the coordinator has looked at all that waits.
  static func claimNew(_ ledger: BenchLedger, _ name: String) throws -> Times {
    for _ in 0..<4000 where try ledger.exchange([], wanting: newest).isEmpty == false {
      throw BenchError("a link is claimed that nobody asked for")
    }
    try ledger.takeIn(links: claims * newest.count, conversations: 40, named: name, Order.inTurn.host)
    return try claim(ledger, newest)
  }

  /// Microseconds of an exchange, the median of many.
  struct Times {
    var claim, settlement: Double
  }

  /// What was claimed is fetched before the next.
  static func claim(_ ledger: BenchLedger, _ want: Want = want) throws -> Times {
    var (times, settlements): ([Double], [Double]) = ([], [])
    for _ in 0..<claims {
      let started = Clock.monotonic()
      let leases = try ledger.exchange([], wanting: want)
      times.append(QueueRows.seconds(since: started) * 1e6)
      guard leases.count == want.count else { throw BenchError("\(leases.count) links were claimed") }
      let claimed = Clock.monotonic()
      _ = try ledger.exchange(try leases.map(fetched), wanting: nil)
      settlements.append(QueueRows.seconds(since: claimed) * 1e6)
    }
    return Times(claim: Series(times).median, settlement: Series(settlements).median)
  }

  private static func fetched(_ lease: Lease) throws -> Settlement {
    guard case .transfer(let transfer) = lease.work else { throw BenchError("a lease of no link") }
    var sha256 = [UInt8](repeating: 0, count: 32)
    withUnsafeBytes(of: transfer.key) { sha256.replaceSubrange(0..<8, with: $0) }
    return Settlement(lease, .fetched(key: transfer.key, FetchedContent(size: 1000, sha256: sha256)))
  }
}
