import Pipeline
import Platform
import Testing

@testable import Ledger

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

  @Test func theTokenOnlyGrows() throws {
    try desk.takeIn(Desk.item("a"))
    var last: Int64 = 0
    for attempt in 1...5 {
      let lease = try desk.claimOne()
      #expect(lease.token > last && lease.attempt == attempt)
      #expect(try desk.number("SELECT token FROM ledger") == lease.token)
      last = lease.token
      try desk.settle(lease, .released)
    }
  }

  @Test func eachLaneIsClaimedByItself() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"], channels: ["x", "y"])] })
    #expect(try desk.claim(9, lane: Ledger.lane(ofChannel: "x")).count == 1)
    #expect(try desk.claim(9, lane: Ledger.lane(ofChannel: "z")).isEmpty)
    #expect(try desk.claim(9).map(Desk.name) == ["b"])
    #expect(try desk.claim(9, lane: Ledger.lane(ofChannel: "y")).count == 1)
  }

  @Test func aPausedLaneGivesNothingUntilItIsResumed() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.pause(Ledger.attachmentLane)
    #expect(try desk.claim(1).isEmpty)
    try desk.pause("channel:x")
    try desk.ledger.resumeLanes()
    #expect(try desk.claim(1).count == 1)
  }

  @Test func aPausedLaneStopsNoOther() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.pause(Ledger.lane(ofChannel: "x"))
    #expect(try desk.claim(1).count == 1)
  }

  @Test func theFirstReasonOfAPauseStays() throws {
    try desk.pause("attachments", "disk-full", "first")
    try desk.pause("attachments", "other", "second")
    #expect(try desk.ledger.status().lanes.map(\.pausedReason) == ["first"])
    try desk.ledger.resumeLanes()
    try desk.pause("attachments", "other", "third")
    #expect(try desk.ledger.status().lanes.map(\.pausedReason) == ["third"])
  }

  @Test func aLeaseOfAPausedLaneStillCounts() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.pause(Ledger.attachmentLane)
    #expect(try desk.settle(lease, Desk.completed(lease)))
  }

  @Test func aScheduledJobWaitsForItsTime() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    let due = Clock.now() + 3_600_000
    try desk.settle(lease, Desk.again(lease, dueAt: due))
    var request = ExchangeRequest()
    request.wanted = [(Ledger.attachmentLane, 1)]
    let reply = try desk.ledger.exchange(request)
    #expect(reply.leases.isEmpty)
    #expect(reply.lanes.map(\.nextDue) == [due])
    try desk.execute("UPDATE jobs SET due_at = due_at - 3600001")
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
    let before = try desk.everything()
    var request = ExchangeRequest()
    #expect(request.isEmpty)
    _ = try desk.ledger.exchange(request)
    request.contents = [Desk.question(9, 5)]
    _ = try desk.ledger.exchange(request)
    #expect(try desk.everything() == before)
  }

  @Test func resultsFreeALaneBeforeItIsClaimedInTheSameTransaction() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    var request = ExchangeRequest()
    request.settlements = [Settlement(lease, .released)]
    request.wanted = [(Ledger.attachmentLane, 2)]
    #expect(try desk.ledger.exchange(request).leases.map(Desk.name) == ["a", "b"])
  }

  @Test func aPauseHoldsForTheClaimInTheSameTransaction() throws {
    try desk.takeIn(Desk.item("a"))
    var request = ExchangeRequest()
    request.pauses = [(Ledger.attachmentLane, "disk-full", "no room")]
    request.wanted = [(Ledger.attachmentLane, 1)]
    #expect(try desk.ledger.exchange(request).leases.isEmpty)
  }
}
