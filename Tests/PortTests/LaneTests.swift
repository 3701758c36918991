import LedgerPort
import Testing

/// Pauses, and what lifts them.
struct LaneTests {
  private func lane(_ bench: Bench, _ action: LaneCommand.Action, _ lane: LaneName = .attachments) throws
    -> CommandResult
  {
    try #require(try bench.command(.lane(LaneCommand(lane, action))).first)
  }

  @Test(arguments: Engine.allCases) func aPausedLaneGivesNothing(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    #expect(try lane(bench, .pause(Sample.disk)) == .done(hasChanged: true))
    #expect(try bench.claim(1).isEmpty)
    let state = try bench.state()
    var pause = Sample.disk
    pause.since = bench.time.now
    #expect(!state.hasDue && state.pause == pause)
    #expect(try bench.reader.status().lanes.map(\.pause) == [pause])
    #expect(try lane(bench, .resume(nil)) == .done(hasChanged: true))
    #expect(try bench.claim(1).count == 1)
  }

  @Test(arguments: Engine.allCases) func whatIsInHandMayBeSettledWhileItsLaneIsPaused(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    _ = try lane(bench, .pause(Sample.person))
    #expect(try bench.settle(lease, Sample.ended(lease)) == .counted)
  }

  @Test(arguments: Engine.allCases) func aPersonsPauseGoesFirstAndTheFirstReasonStays(engine: Engine) throws {
    let bench = try Bench(engine)
    _ = try lane(bench, .pause(Sample.disk))
    let since = bench.time.now
    bench.time.pass(10)
    var other = Sample.disk
    other.code = "other"
    #expect(try lane(bench, .pause(other)) == .done(hasChanged: false))
    #expect(try bench.state().pause?.code == "disk-full" && bench.state().pause?.since == since)
    _ = try lane(bench, .pause(Sample.person))
    #expect(try bench.state().pause?.cause == .person)
    #expect(try lane(bench, .resume(.person)) == .done(hasChanged: true))
    #expect(try lane(bench, .resume(.person)) == .done(hasChanged: false))
    #expect(try bench.state().pause?.cause == .fault)
    _ = try lane(bench, .pause(Sample.person))
    #expect(try lane(bench, .resume(nil)) == .done(hasChanged: true))
    #expect(try bench.state().pause == nil)
  }

  @Test(arguments: Engine.allCases) func aStartLiftsWhatTheProgramPausedAndNothingElse(engine: Engine) throws
  {
    let bench = try Bench(engine)
    _ = try lane(bench, .pause(Sample.disk))
    _ = try lane(bench, .pause(Sample.person))
    try bench.succeed()
    #expect(try bench.state().pause?.cause == .person)
    _ = try lane(bench, .resume(.person))
    #expect(try bench.state().pause == nil)
  }

  @Test(arguments: Engine.allCases) func aReaderHearsOfWhatAStartLifts(engine: Engine) throws {
    let bench = try Bench(engine)
    _ = try lane(bench, .pause(Sample.disk))
    let position = try bench.reader.position()
    try bench.succeed()
    #expect(try bench.changes(since: position) == [Change(.lane, "attachments")])
    let after = try bench.reader.position()
    try bench.succeed()
    #expect(try bench.reader.position() == after, "nothing was lifted")
  }

  @Test(arguments: Engine.allCases) func aLaneIsKnownOnceItWasUsed(engine: Engine) throws {
    let bench = try Bench(engine)
    guard case .refused(let reason) = try lane(bench, .hasten, Sample.events) else {
      return #expect(Bool(false), "it is done")
    }
    #expect(reason.hasPrefix("there is no lane 'channel:events'"))
    try bench.end("a") { $0.events = [Sample.event()] }
    let reply = try bench.exchange {
      $0.commands = [.lane(LaneCommand(Sample.events, .pause(Sample.person)))]
      $0.wanted = [Want(.attachments, 1)]
    }
    #expect(reply.results == [.done(hasChanged: true)])
    #expect(reply.lanes.map(\.name) == [.attachments, Sample.events], "what was changed is told")
    #expect(reply.lanes[1].pause?.cause == .person)
  }

  @Test(arguments: Engine.allCases) func whatWaitsIsHastenedByLane(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    try bench.end("b") { $0.events = [Sample.event(["ann"])] }
    let attachment = try bench.claimOne()
    let delivery = try bench.claimOne(Sample.events)
    try bench.settle(attachment, Sample.again(attachment, after: 9000))
    try bench.settle(
      delivery, .deliveryAgain(key: Sample.key(delivery), after: 9000, reason: Sample.reason))
    let reply = try bench.exchange {
      $0.commands = [.lane(LaneCommand(Sample.events, .hasten))]
      $0.wanted = [Want(Sample.events, 1), Want(.attachments, 1)]
    }
    #expect(reply.leases.map(Sample.name) == ["ann"] && reply.lanes.map(\.nextDue) == [nil, 9000])
  }

  @Test(arguments: Engine.allCases) func statusShowsWhatEachLaneHas(engine: Engine) throws {
    let bench = try Bench(engine)
    #expect(try bench.reader.status().lanes.isEmpty && bench.reader.status().oldestQueuedAt == nil)
    let begin = bench.time.now
    try bench.takeIn(Sample.item("a"), Sample.item("b"), Sample.item("c"), Sample.item("d"))
    bench.time.pass(100)
    let leases = try bench.claim(3)
    try bench.settle(leases[0], Sample.ended(leases[0]) { $0.events = [Sample.event()] })
    try bench.settle(leases[1], Sample.again(leases[1], after: 700))
    bench.time.pass(200)
    let status = try bench.reader.status()
    #expect(status.lanes.map(\.name) == [.attachments, Sample.events])
    #expect(status.lanes.map { [$0.due, $0.scheduled, $0.leased] } == [[1, 1, 1], [2, 0, 0]])
    #expect(status.lanes.map(\.nextDue) == [500, nil] && status.oldestQueuedAt == begin)
  }
}
