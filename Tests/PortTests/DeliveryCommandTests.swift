import LedgerPort
import Pipeline
import Testing

/// What commands about deliveries do, in each state that one can be in.
struct DeliveryCommandTests {
  enum Standing: String, CaseIterable, Sendable {
    case due, waiting, leased, delivered, dead, dropped, unknown
  }

  static let all = Engine.allCases.flatMap { engine in Standing.allCases.map { (engine, $0) } }

  /// Brings a delivery there. Returns the lease where it is in hand.
  private func make(_ standing: Standing, _ bench: Bench) throws -> (DeliveryRecord, Lease?) {
    try bench.end("a") { $0.events = [Sample.event(["ann"])] }
    func record() throws -> DeliveryRecord {
      try #require(try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 9).rows.first)
    }
    let first = try record()
    var lease: Lease?
    switch standing {
    case .due, .unknown: break
    case .dropped: try bench.command(.delivery(DeliveryCommand(key: first.key, first.id, .drop)))
    case .waiting, .leased, .delivered, .dead:
      let one = try bench.claimOne(Sample.events)
      switch standing {
      case .waiting:
        try bench.settle(one, .deliveryAgain(key: first.key, after: 60_000, reason: Sample.reason))
      case .delivered: try bench.settle(one, .delivered(key: first.key))
      case .dead: try bench.settle(one, .deadLetter(key: first.key, reason: Sample.reason))
      default: lease = one
      }
    }
    return (try record(), lease)
  }

  @Test(arguments: all) func retry(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (record, _) = try make(standing, bench)
    let id = standing == .unknown ? "nobody" : record.id
    let result = try #require(
      try bench.command(.delivery(DeliveryCommand(key: record.key, id, .retry))).first)
    switch standing {
    case .due, .leased: #expect(result == .done(hasChanged: false))
    case .waiting, .dead, .dropped:
      #expect(result == .done(hasChanged: true))
      let lease = try bench.claimOne(Sample.events)
      #expect(lease.attempt == 2, "the channel looks whether an earlier one took effect")
      #expect(lease.counted == (standing == .waiting ? 2 : 1))
      #expect(try bench.settle(lease, .delivered(key: record.key)) == .counted)
      let after = try #require(try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 9).rows.first)
      #expect(after.status == .delivered && after.id == record.id)
      #expect(try bench.reader.status().deadLetters == 0)
    case .delivered, .unknown:
      guard case .refused = result else { return #expect(Bool(false), "\(result)") }
    }
  }

  @Test(arguments: all) func drop(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (record, lease) = try make(standing, bench)
    let id = standing == .unknown ? "nobody" : record.id
    let reply = try bench.exchange { $0.commands = [.delivery(DeliveryCommand(key: record.key, id, .drop))] }
    let after = try #require(try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 9).rows.first)
    switch standing {
    case .due, .waiting, .leased, .dead:
      #expect(reply.results == [.done(hasChanged: true)] && reply.position != nil)
      #expect(after.status == .dropped && after.code == "dropped" && after.finishedAt == bench.time.now)
      #expect(after.nextDue == nil && after.attempts == 0)
      bench.time.pass(100_000)
      #expect(try bench.claim(9, Sample.events).isEmpty)
      if let lease { #expect(try bench.settle(lease, .delivered(key: record.key)) == .leaseLost) }
    case .dropped: #expect(reply.results == [.done(hasChanged: false)] && reply.position == nil)
    case .delivered, .unknown:
      guard case .refused = reply.results.first else { return #expect(Bool(false), "\(reply.results)") }
      #expect(after.status == record.status)
    }
  }
}
