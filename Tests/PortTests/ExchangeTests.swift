import LedgerPort
import Pipeline
import Testing

/// An exchange is done once, as a whole, in its order.
struct ExchangeTests {
  @Test(arguments: Engine.allCases) func theSameNumberIsDoneOnceAndAnsweredAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b"))
    var exchange = Exchange(number: 2)
    exchange.wanted = [Want(.attachments, 1)]
    exchange.commands = [.takeIn([Sample.item("c")])]
    let first = try bench.writer.exchange(exchange)
    let second = try bench.writer.exchange(exchange)
    #expect(text(first, withTokens: true) == text(second, withTokens: true))
    #expect(Sample.counted(first.results) == [.takenIn(Sample.report(added: 1))] && first.leases.count == 1)
    bench.number = 2
    #expect(try bench.claim(9).map(Sample.name) == ["b", "c"])
  }

  @Test(arguments: Engine.allCases) func aNumberThatJumpsOrGoesBackIsFenced(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    try bench.takeIn(Sample.item("b"))
    for number in [-1, 0, 1, 4] as [Int64] {
      var exchange = Exchange(number: number)
      exchange.commands = [.takeIn([Sample.item("c")])]
      expectError(.fenced) { _ = try bench.writer.exchange(exchange) }
    }
    #expect(try bench.count(.queued) == 2)
  }

  @Test(arguments: Engine.allCases) func theFateOfAnExchangeIsItsAnswer(engine: Engine) throws {
    let bench = try Bench(engine)
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Sample.item("a")])]
    exchange.wanted = [Want(.attachments, 1)]
    #expect(try bench.writer.fate(of: exchange) == nil, "it was not done")
    #expect(try bench.count(.queued) == 0)
    let reply = try bench.writer.exchange(exchange)
    let fate = try #require(try bench.writer.fate(of: exchange))
    #expect(text(fate, withTokens: true) == text(reply, withTokens: true))
    exchange.number = 3
    expectError(.fenced) { _ = try bench.writer.fate(of: exchange) }
    exchange.number = 2
    #expect(try bench.writer.fate(of: exchange) == nil)
  }

  @Test(arguments: Engine.allCases) func oneThatOnlyAsksTakesNoNumber(engine: Engine) throws {
    let bench = try Bench(engine)
    var exchange = Exchange()
    exchange.contents = [Sample.question(9)]
    #expect(!exchange.takesNumber && !exchange.isEmpty && Exchange().isEmpty)
    #expect(try bench.writer.exchange(exchange).contents.count == 1)
    #expect(try bench.writer.exchange(exchange).position == nil)
    #expect(try bench.writer.fate(of: exchange) == nil)
    try bench.end("a")
    #expect(try bench.writer.exchange(exchange).contents.first?.url == "documents/a")
  }

  @Test(arguments: Engine.allCases) func aLostCoordinatorIsFenced(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lost = try bench.succeed()
    var exchange = Exchange(number: 2)
    exchange.commands = [.takeIn([Sample.item("b")])]
    expectError(.fenced) { _ = try lost.exchange(exchange) }
    expectError(.fenced) { _ = try lost.fate(of: exchange) }
    #expect(try bench.count(.queued) == 1)
    #expect(lost.holder != bench.writer.holder)
  }

  @Test(arguments: Engine.allCases) func whoHasLeftIsFenced(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.writer.leave()
    expectError(.fenced) { try bench.takeIn(Sample.item("a")) }
    #expect(try bench.count(.queued) == 0)
  }

  @Test(arguments: Engine.allCases) func aRefusedCommandRefusesOnlyItself(engine: Engine) throws {
    let bench = try Bench(engine)
    var bad = Sample.item("bad")
    bad.source = Array("in/bad".utf8)
    let results = try bench.command(
      .retry("nobody"), .takeIn([bad, Sample.item("a")]),
      .lane(LaneCommand(.channel("never"), .hasten)), .lane(LaneCommand(.attachments, .pause(Sample.person))))
    try #require(results.count == 4)
    #expect(results[0] == .refused("no attachment has the id nobody"))
    var report = Sample.report(added: 1)
    report.problems = [IntakeProblem("list:1", "its path is not an absolute path; not taken in")]
    #expect(Sample.counted(results)[1] == .takenIn(report))
    guard case .refused = results[2] else { return #expect(Bool(false), "\(results[2])") }
    #expect(results[3] == .done(hasChanged: true))
  }

  @Test(arguments: Engine.allCases)
  func commandsComeBeforeSettlementsAndClaimsLast(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    let reply = try bench.exchange {
      $0.commands = [.takeIn([Sample.item("b")]), .retry(Sample.id(lease))]
      $0.settlements = [Settlement(lease, Sample.failed(lease))]
      $0.wanted = [Want(.attachments, 9)]
      $0.contents = [Sample.question(9)]
    }
    #expect(reply.results.last == .done(hasChanged: false), "it had not ended yet")
    #expect(reply.settled == [.counted])
    #expect(reply.leases.map(Sample.name) == ["b"])
    let paused = try bench.exchange {
      $0.commands = [.lane(LaneCommand(.attachments, .pause(Sample.disk)))]
      $0.settlements = [Settlement(reply.leases[0], .released)]
      $0.wanted = [Want(.attachments, 9)]
    }
    #expect(
      paused.settled == [.counted] && paused.leases.isEmpty && paused.lanes[0].pause?.code == "disk-full")
  }

  @Test(arguments: Engine.allCases) func aSettlementCountsOnceInAnExchange(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    let reply = try bench.exchange {
      $0.settlements = [
        Settlement(lease, Sample.ended(lease)), Settlement(lease, Sample.failed(lease)),
        Settlement(lease, .released),
      ]
    }
    #expect(reply.settled == [.counted, .leaseLost, .leaseLost])
    #expect(try bench.count(.completed) == 1 && bench.count(.failed) == 0)
    #expect(try bench.claim(1).isEmpty)
  }
}
