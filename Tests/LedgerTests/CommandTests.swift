import Pipeline
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// What commands change, and what they answer.
struct CommandTests {
  private let desk: Desk
  private let events = LaneName.channel("events")

  init() throws { desk = try Desk(inFolder: ()) }

  private func send(_ commands: [Command], wanting wanted: [Want] = []) throws -> ExchangeReply {
    var exchange = Exchange()
    (exchange.commands, exchange.wanted) = (commands, wanted)
    return try desk.send(exchange)
  }

  private static func pause(
    _ lane: LaneName = .attachments, _ cause: Pause.Cause = .person, _ reason: String = "lunch"
  ) -> Command {
    .lane(LaneCommand(lane, .pause(Pause(cause, code: "paused", reason: reason, by: "ann"))))
  }

  private static func resume(_ lane: LaneName = .attachments, _ cause: Pause.Cause? = nil) -> Command {
    .lane(LaneCommand(lane, .resume(cause)))
  }

  private static func hasten(_ lane: LaneName = .attachments) -> Command {
    .lane(LaneCommand(lane, .hasten))
  }

  /// Takes a file in and ends it. Returns its id.
  @discardableResult
  private func end(
    _ name: String, _ status: Status, _ change: (inout EndedAttachment) -> Void = { _ in }
  ) throws -> String {
    try desk.takeIn(Desk.item(name))
    let lease = try desk.claimOne()
    let ending = status == .completed ? Desk.completed(lease, change) : Desk.ended(lease, status, change)
    try #require(try desk.settle(lease, ending) == .counted)
    return Desk.id(lease)
  }

  // MARK: Lanes

  @Test func aPauseIsOnRecordWithWhoAskedForItAndWhen() throws {
    desk.clock.pass(5)
    let reply = try send([Self.pause()])
    #expect(reply.results == [.done(hasChanged: true)])
    #expect(reply.lanes.map(\.name) == [.attachments], "the lane's state is told, though nothing is wanted")
    let pause = try #require(reply.lanes.first?.pause)
    #expect(pause == Pause(.person, code: "paused", reason: "lunch", by: "ann", since: desk.clock.now))
    #expect(try desk.ledger.status().lanes.map(\.pause) == [pause])
  }

  @Test func theFirstFaultStaysAndTheLastWordOfAPerson() throws {
    try desk.takeIn(Desk.item("a"))
    let results = try send([
      Self.pause(.attachments, .fault, "first"), Self.pause(.attachments, .fault, "second"),
      Self.pause(.attachments, .person, "third"), Self.pause(.attachments, .person, "fourth"),
    ]).results
    #expect(results.map { $0 == .done(hasChanged: true) } == [true, false, true, true])
    #expect(try desk.state().pause?.reason == "fourth", "a person's goes before the program's")
    try desk.resume(.attachments, .person)
    #expect(try desk.state().pause?.reason == "first")
  }

  @Test func toResumeOneCauseLeavesTheOther() throws {
    try desk.takeIn(Desk.item("a"))
    _ = try send([Self.pause(.attachments, .person), Self.pause(.attachments, .fault)])
    #expect(try desk.resume(.attachments, .fault) == .done(hasChanged: true))
    #expect(try desk.state().pause?.cause == .person)
    #expect(try desk.claim(1).isEmpty)
    #expect(try desk.resume(.attachments, .fault) == .done(hasChanged: false))
    #expect(try desk.resume(.attachments, .person) == .done(hasChanged: true))
    #expect(try desk.claim(1).count == 1)
  }

  @Test func toResumeEveryCauseLiftsBoth() throws {
    _ = try send([Self.pause(.attachments, .person), Self.pause(.attachments, .fault)])
    #expect(try desk.resume() == .done(hasChanged: true))
    #expect(try desk.state().pause == nil)
    #expect(try desk.resume() == .done(hasChanged: false))
  }

  @Test func aPersonsPauseOutlivesTheCoordinatorAndAFaultsDoesNot() throws {
    try desk.use("events")
    _ = try send([
      Self.pause(.attachments, .person), Self.pause(.attachments, .fault), Self.pause(events, .fault),
    ])
    try desk.reopen()
    #expect(try desk.state().pause?.cause == .person)
    #expect(try desk.state(of: events).pause == nil)
    #expect(try desk.number("SELECT count(*) FROM pauses") == 1)
  }

  @Test func aLaneThatWasNeverUsedIsRefused() throws {
    let before = try desk.everything()
    let reply = try send([Self.pause(events), Self.resume(events), Self.hasten(events)])
    let sentence =
      "there is no lane 'channel:events'; lanes are attachments, downloads, and channel:NAME of each channel that was used"
    #expect(reply.results == [.refused(sentence), .refused(sentence), .refused(sentence)])
    #expect(reply.lanes.isEmpty && reply.position == nil)
    #expect(try desk.everything() == before)
    try desk.use("events")
    #expect(try send([Self.pause(events)]).results == [.done(hasChanged: true)])
  }

  @Test func whatWaitsInALaneIsDueAtOnceWhenItIsHastened() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    var leases = try desk.claim(3)
    try desk.settle(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event(["ben"])] })
    for lease in leases.dropFirst() { try desk.settle(lease, Desk.again(lease, after: 60_000)) }
    let delivery = try desk.claimOne(lane: events)
    try desk.settle(
      delivery, .deliveryAgain(key: Desk.key(delivery), after: 90_000, reason: Desk.reason))
    let reply = try send([Self.hasten()])
    #expect(reply.results == [.done(hasChanged: true)] && reply.lanes.map(\.nextDue) == [0])
    leases = try desk.claim(9)
    #expect(leases.map(Desk.name) == ["b", "c"] && leases.map(\.counted) == [2, 2])
    #expect(try desk.state(of: events).nextDue == 90_000, "another lane's waits as before")
  }

  @Test func aPausedLaneIsHastenedAndStaysPaused() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, after: 60_000))
    _ = try send([Self.pause(), Self.hasten()])
    #expect(try desk.claim(1).isEmpty)
    try desk.resume()
    #expect(try desk.claim(1).count == 1)
  }

  @Test func theStatesOfChangedLanesFollowThoseOfWantedOnes() throws {
    try desk.use("x")
    try desk.use("y")
    let reply = try send(
      [Self.pause(.channel("x")), Self.pause(.channel("y")), Self.resume(.channel("x"))],
      wanting: [Want(.attachments, 1), Want(.channel("y"), 1)])
    #expect(reply.lanes.map(\.name) == [.attachments, .channel("y"), .channel("x")])
    #expect(reply.lanes.map { $0.pause == nil } == [true, false, true])
  }

  // MARK: Attachments

  @Test func anUnknownAttachmentIsRefused() throws {
    let before = try desk.everything()
    #expect(try desk.retry("no-such-id") == .refused("no attachment has the id no-such-id"))
    #expect(try desk.everything() == before)
  }

  @Test func aCompletedAttachmentIsRefused() throws {
    let id = try end("a", .completed)
    let before = try desk.everything()
    #expect(
      try desk.retry(id) == .refused("attachment \(id) is completed: there is nothing to try again"))
    #expect(try desk.everything() == before)
  }

  @Test func aDueOrLeasedAttachmentIsLeftAsItIs() throws {
    try desk.takeIn(Desk.item("a"))
    let id = try #require(try desk.ledger.attachments(idPrefix: "").first).origin.id
    #expect(try desk.retry(id) == .done(hasChanged: false))
    let lease = try desk.claimOne()
    let before = try desk.everything()
    #expect(try desk.retry(id) == .done(hasChanged: false))
    #expect(try desk.everything() == before)
    #expect(try desk.settle(lease, Desk.completed(lease)) == .counted)
  }

  @Test func anAttachmentThatWaitsForLaterIsDueAtOnce() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let leases = try desk.claim(2)
    for lease in leases { try desk.settle(lease, Desk.again(lease, after: 60_000)) }
    let reply = try send([.retry(Desk.id(leases[1]))])
    #expect(reply.results == [.done(hasChanged: true)])
    #expect(reply.lanes.map(\.name) == [.attachments] && reply.lanes.map(\.nextDue) == [0])
    let again = try desk.claim(9)
    #expect(again.map(Desk.name) == ["b"] && again.map(\.counted) == [2])
    #expect(try desk.state().nextDue == 60_000)
  }

  @Test(arguments: [Status.rejected, .failed, .quarantined])
  func anAttachmentThatWasNotCompletedIsQueuedAgain(status: Status) throws {
    let id = try end("a", status) { $0.fingerprint = "first" }
    #expect(try desk.ledger.hasName("documents/a"))
    let reply = try send([.retry(id)])
    #expect(reply.results == [.done(hasChanged: true)] && reply.lanes.map(\.hasDue) == [true])
    #expect(try !desk.ledger.hasName("documents/a"), "its path is free")
    #expect(try desk.count(status) == 0 && desk.count(.queued) == 1)
    try desk.checkCounts()
    let record = try #require(try desk.ledger.attachments(idPrefix: id).first)
    #expect(record.outcome.status == .queued && record.outcome.reason == nil && record.outcome.url == nil)
    #expect(
      record.outcome.mediaType == nil && record.outcome.sizeBytes == nil && record.outcome.sha256 == nil)
    #expect(record.outcome.metadata == "{}" && record.finishedAt == nil)
    #expect(try desk.number("SELECT count(*) FROM attachments WHERE fingerprint_key IS NULL") == 1)
    let lease = try desk.claimOne()
    #expect(lease.attempt == 2 && lease.counted == 1 && lease.crashes == 0 && lease.losses == 0)
    try desk.settle(lease, Desk.completed(lease))
    #expect(try desk.ledger.attempts(of: Desk.key(lease)).map(\.number) == [1, 2])
    try desk.checkCounts()
    #expect(try desk.findings() == [])
  }

  @Test func eventsOfATypeThatWasToldAreNotToldAgain() throws {
    func event(_ type: String) -> OutgoingEvent {
      OutgoingEvent(type: type, data: "{}", channels: ["events"], recipients: ["ben"])
    }
    let id = try end("a", .rejected) { $0.events = [event("rejected"), event("ended")] }
    try desk.retry(id)
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [event("completed"), event("ended")] })
    #expect(
      try desk.ledger.deliveries(of: Desk.key(lease)).map(\.type) == ["rejected", "ended", "completed"])
  }

  @Test func whatIsQueuedAgainIsSoForTheNextCoordinator() throws {
    let id = try end("a", .failed)
    try desk.retry(id)
    try desk.reopen()
    #expect(try desk.claimOne().attempt == 2)
  }

  // MARK: Several at once

  @Test func commandsAreAppliedInOrder() throws {
    let id = try end("a", .rejected)
    let known = Command.takeIn([Desk.item("a")])
    let retry = Command.retry(id)
    let reply = try send(
      [
        known, retry, known, retry, Self.pause(), .takeIn([Desk.item("b")]), Self.pause(), Self.resume(),
        .retry("nobody's"), retry, Self.pause(events),
        Self.pause(.attachments, .fault, "last"),
      ], wanting: [Want(.attachments, 9)])
    func report(added: Int, notCompleted: Int) -> CommandResult {
      var report = IntakeReport()
      (report.added, report.known, report.knownNotCompleted) = (added, 1 - added, notCompleted)
      return .takenIn(report)
    }
    let expected: [CommandResult] = [
      report(added: 0, notCompleted: 1), .done(hasChanged: true), report(added: 0, notCompleted: 0),
      .done(hasChanged: false), .done(hasChanged: true), report(added: 1, notCompleted: 0),
      .done(hasChanged: false), .done(hasChanged: true), .refused("no attachment has the id nobody's"),
      .done(hasChanged: false),
      .refused(
        "there is no lane 'channel:events'; lanes are attachments, downloads, and channel:NAME of each channel that was used"
      ), .done(hasChanged: true),
    ]
    #expect(Desk.counted(reply.results) == expected)
    #expect(reply.leases.isEmpty && reply.lanes.first?.pause?.reason == "last")
    try desk.resume()
    #expect(try desk.claim(9).map(Desk.name) == ["a", "b"])
    try desk.checkCounts()
  }

  @Test func aWaitingAttachmentIsHastenedOnceInOneExchange() throws {
    let id = try end("a", .failed)
    let retry = Command.retry(id)
    #expect(
      try send([retry, retry, retry]).results == [
        .done(hasChanged: true), .done(hasChanged: false), .done(hasChanged: false),
      ])
    #expect(try desk.number("SELECT count(*) FROM jobs") == 1)
  }

  @Test func commandsThatFailLeaveNothingBehind() throws {
    let id = try end("a", .rejected)
    try desk.execute(
      "CREATE TRIGGER no_b BEFORE INSERT ON attachments WHEN new.file_name = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    let before = try desk.everything()
    let commands = [Self.pause(), .retry(id), .takeIn([Desk.item("b")])]
    #expect(throws: LedgerError.self) { try send(commands) }
    #expect(try desk.everything() == before)
    try desk.execute("DROP TRIGGER no_b")
    #expect(try send(commands).results.prefix(2) == [.done(hasChanged: true), .done(hasChanged: true)])
  }
}
