import LedgerPort
import Testing

/// Turns between senders: a thousand attachments of one hold up no other's.
struct SenderTurnTests {
  private func take(in names: [String], of sender: String, priority: Int64 = 0, _ bench: Bench) throws {
    for name in names { try bench.takeIn(Sample.item(name, sender: sender, priority: priority)) }
  }

  private func claim(_ count: Int, inHand: [Int64: Int]? = nil, _ bench: Bench) throws -> [Lease] {
    try bench.exchange { $0.wanted = [Want(.attachments, count, inHand: inHand)] }.leases
  }

  @Test(arguments: Engine.allCases) func sendersHaveTheirTurns(engine: Engine) throws {
    let bench = try Bench(engine)
    try take(in: (0..<8).map { "a\($0)" }, of: "ann", bench)
    try take(in: ["b0", "b1"], of: "ben", bench)
    try take(in: ["c0"], of: "cyd", bench)
    let first = try claim(6, bench)
    #expect(Set(first.map(Sample.name)) == ["a0", "a1", "a2", "b0", "b1", "c0"])
    #expect(Set(first.map(\.turn)).count == 3 && first.allSatisfy { $0.turn > 0 })
    #expect(try claim(9, bench).map(Sample.name) == ["a3", "a4", "a5", "a6", "a7"])
  }

  @Test(arguments: Engine.allCases) func oneAtATimeTheyTakeTurns(engine: Engine) throws {
    let bench = try Bench(engine)
    try take(in: ["a0", "a1", "a2"], of: "ann", bench)
    try take(in: ["b0", "b1"], of: "ben", bench)
    let names = try (0..<5).map { _ in Sample.name(try #require(try claim(1, bench).first)).prefix(1) }
    #expect(names[0] != names[1] && names[1] != names[2] && names[2] != names[3] && names[4] == "a")
  }

  @Test(arguments: Engine.allCases) func theHigherPriorityGoesFirstWhoseverItIs(engine: Engine) throws {
    let bench = try Bench(engine)
    try take(in: ["a0", "a1"], of: "ann", priority: 1, bench)
    try take(in: ["b0"], of: "ben", bench)
    #expect(try claim(2, bench).map(Sample.name) == ["a0", "a1"])
  }

  @Test(arguments: Engine.allCases) func aQuarterIsLeftForWhoeverComesNext(engine: Engine) throws {
    let bench = try Bench(engine)
    try take(in: (0..<40).map { "a\($0)" }, of: "ann", bench)
    let held = try claim(32, inHand: [:], bench)
    #expect(held.count == 24)
    let ann = held[0].turn
    #expect(try claim(8, inHand: [ann: 24], bench).isEmpty)
    try take(in: (0..<40).map { "b\($0)" }, of: "ben", bench)
    let next = try claim(8, inHand: [ann: 24], bench)
    #expect(next.count == 6 && next.allSatisfy { Sample.name($0).hasPrefix("b") })
    #expect(try claim(2, inHand: [ann: 24, next[0].turn: 6], bench).isEmpty)
    try take(in: ["c"], of: "cyd", bench)
    #expect(try claim(2, inHand: [ann: 24, next[0].turn: 6], bench).map(Sample.name) == ["c"])
  }

  @Test(arguments: Engine.allCases) func whatAnAttachmentTellsHasItsTurn(engine: Engine) throws {
    let bench = try Bench(engine)
    for (name, sender) in [("a0", "ann"), ("a1", "ann"), ("a2", "ann"), ("b0", "ben")] {
      try bench.takeIn(Sample.item(name, sender: sender))
      let lease = try bench.claimOne()
      try bench.settle(lease, Sample.ended(lease) { $0.events = [Sample.event()] })
    }
    let leases = try bench.claim(2, Sample.events)
    #expect(Set(leases.map(\.turn)).count == 2)
  }

  @Test(arguments: Engine.allCases) func whatIsRetriedKeepsItsTurn(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a", sender: "ann"))
    let lease = try bench.claimOne()
    try bench.settle(lease, Sample.failed(lease))
    let id = try bench.attachment("a").origin.id
    _ = try bench.command(.attachment(AttachmentCommand(id, .retry)))
    #expect(try bench.claimOne().turn == lease.turn)
  }
}
