import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

struct ClaimTests {
  private let desk: Desk

  init() throws { desk = try Desk() }

  @Test func theHighestPriorityGoesFirstAndThenTheOldest() throws {
    try desk.takeIn(
      Desk.item("a", priority: 0), Desk.item("b", priority: 5), Desk.item("c", priority: -1),
      Desk.item("d", priority: 5), Desk.item("e"))
    let order = try (0..<5).map { _ in Desk.name(try desk.claimOne()) }
    #expect(order == ["b", "d", "a", "e", "c"])
    #expect(try desk.claim(1).isEmpty)
  }

  @Test func noMoreIsLeasedThanIsWanted() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    #expect(try desk.claim(0).isEmpty)
    #expect(try desk.claim(2).map(Desk.name) == ["a", "b"])
    #expect(try desk.claim(2).map(Desk.name) == ["c"])
  }

  @Test func noTokenIsGivenTwice() throws {
    try desk.takeIn(Desk.item("a"))
    var tokens: Set<Token> = []
    for attempt in 1...5 {
      let lease = try desk.claimOne()
      #expect(lease.attempt == attempt)
      #expect(lease.token == Token(holder: desk.ledger.holder, number: desk.number))
      tokens.insert(lease.token)
      try desk.settle(lease, .released)
    }
    #expect(tokens.count == 5)
  }

  @Test func eachLaneIsClaimedByItself() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"], channels: ["x", "y"])] })
    #expect(try desk.claim(9, lane: .channel("x")).count == 1)
    #expect(try desk.claim(9, lane: .channel("z")).isEmpty)
    #expect(try desk.claim(9).map(Desk.name) == ["b"])
    #expect(try desk.claim(9, lane: .channel("y")).count == 1)
  }

  @Test func aPausedLaneGivesNothingUntilItIsResumed() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.pause()
    #expect(try desk.claim(1).isEmpty)
    try desk.use("x")
    try desk.pause(.channel("x"))
    try desk.resume()
    #expect(try desk.claim(1).count == 1)
    #expect(try desk.state(of: .channel("x")).pause?.code == "disk-full")
  }

  @Test func aPausedLaneStopsNoOther() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.use("x")
    try desk.pause(.channel("x"))
    #expect(try desk.claim(1).count == 1)
  }

  @Test func theFirstReasonOfAPauseStays() throws {
    try desk.pause(.attachments, .fault, "disk-full", "first")
    try desk.pause(.attachments, .fault, "other", "second")
    #expect(try desk.ledger.status().lanes.map(\.pause?.reason) == ["first"])
    try desk.resume()
    try desk.pause(.attachments, .fault, "other", "third")
    #expect(try desk.ledger.status().lanes.map(\.pause?.reason) == ["third"])
  }

  @Test func aLeaseOfAPausedLaneStillCounts() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.pause()
    #expect(try desk.settle(lease, Desk.completed(lease)) == .counted)
  }

  @Test func aScheduledJobWaitsForItsTime() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, after: 3_600_000))
    desk.clock.pass(1)
    var request = Exchange()
    request.wanted = [Want(.attachments, 1)]
    let reply = try desk.send(request)
    #expect(reply.leases.isEmpty)
    #expect(reply.lanes.map(\.nextDue) == [3_599_999] && reply.lanes.map(\.hasDue) == [false])
    desk.clock.pass(3_599_998)
    #expect(try desk.claim(1).isEmpty)
    desk.clock.pass(1)
    #expect(try desk.claimOne().attempt == 2)
  }

  @Test func aJobThatIsDueAgainKeepsItsPlaceInTheOrder() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease))
    #expect(try desk.claim(2).map(Desk.name) == ["a", "b"])
  }

  @Test func attemptsAreCountedAndThoseTakenBackAreNot() throws {
    try desk.takeIn(Desk.item("a"))
    var lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease))
    lease = try desk.claimOne()
    #expect(lease.attempt == 2 && lease.counted == 2)
    try desk.settle(lease, .released)
    lease = try desk.claimOne()
    #expect(lease.attempt == 3 && lease.counted == 2)
    try desk.settle(lease, Desk.again(lease, crashed: true))
    lease = try desk.claimOne()
    #expect(lease.attempt == 4 && lease.counted == 3 && lease.crashes == 1)
  }

  @Test func aRequestForNothingWritesNothing() throws {
    try desk.takeIn(Desk.item("a"))
    let before = try Desk.rows(of: desk.ledger.connection)
    desk.clock.pass(5)
    var request = Exchange()
    #expect(request.isEmpty && !request.takesNumber)
    _ = try desk.send(request)
    request.contents = [Desk.question(9, 5)]
    #expect(!request.isEmpty && !request.takesNumber)
    _ = try desk.send(request)
    #expect(try Desk.rows(of: desk.ledger.connection) == before)
  }

  @Test func resultsFreeALaneBeforeItIsClaimedInTheSameTransaction() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    var request = Exchange()
    request.settlements = [Settlement(lease, .released)]
    request.wanted = [Want(.attachments, 2)]
    #expect(try desk.send(request).leases.map(Desk.name) == ["a", "b"])
  }

  @Test func aPauseHoldsForTheClaimInTheSameTransaction() throws {
    try desk.takeIn(Desk.item("a"))
    var request = Exchange()
    request.commands = [
      .lane(LaneCommand(.attachments, .pause(Pause(.fault, code: "disk-full", reason: "no room"))))
    ]
    request.wanted = [Want(.attachments, 1)]
    #expect(try desk.send(request).leases.isEmpty)
  }
}
