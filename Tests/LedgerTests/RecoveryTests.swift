import Pipeline
import Testing

@testable import Ledger

/// How the next coordinator treats the leases of one that ended.
struct RecoveryTests {
  private let desk: Desk

  init() throws { desk = try Desk(inFolder: ()) }

  private func end(_ lease: Lease) throws { try desk.settle(lease, Desk.completed(lease)) }

  @Test func leasesComeBackAtOnceAndCountAgainstNobody() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let before = try desk.claim(2)
    let boot = desk.ledger.boot
    try desk.reopen()
    #expect(desk.ledger.boot == boot + 1)
    let after = try desk.claim(2)
    #expect(after.map(\.job) == before.map(\.job))
    #expect(after.map(\.attempt) == [2, 2] && after.map(\.counted) == [1, 1])
    #expect(after.map(\.crashes) == [0, 0] && after.map(\.suspicions) == [0, 0])
  }

  @Test func whatWasNotLeasedStaysAsItWas() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, dueAt: .max))
    try desk.reopen()
    #expect(try desk.claim(2).map { [$0.attempt, $0.counted] } == [[1, 1]])
    #expect(try desk.number("SELECT count(*) FROM jobs WHERE state = 'scheduled' AND uncounted = 0") == 1)
  }

  @Test func onlyThoseThatLaterOnesPassedAreSuspect() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"), Desk.item("d"))
    let leases = try desk.claim(4)
    try end(leases[2])
    try desk.reopen()
    let after = try desk.claim(4)
    #expect(after.map(Desk.name) == ["a", "b", "d"])
    #expect(after.map(\.suspicions) == [1, 1, 0])
  }

  @Test func onlyWhatThisCoordinatorEndedPassesAnything() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    try end(try desk.claim(3)[2])
    try desk.reopen()
    _ = try desk.claim(2)
    try desk.reopen()
    #expect(try desk.claim(2).map(\.suspicions) == [1, 1], "the second one ended nothing")
  }

  @Test func theOnlyOneInHandIsSuspect() throws {
    try desk.takeIn(Desk.item("a"))
    _ = try desk.claimOne()
    try desk.reopen()
    #expect(try desk.claimOne().suspicions == 1)
  }

  @Test func aDeliveryIsNeverSuspect() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    _ = try desk.claimOne(lane: Ledger.lane(ofChannel: "events"))
    try desk.reopen()
    let delivery = try desk.claimOne(lane: Ledger.lane(ofChannel: "events"))
    #expect(delivery.suspicions == 0 && delivery.attempt == 2 && delivery.counted == 1)
  }

  @Test func suspicionInCompanyStopsAtTheThresholdOfSolitude() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    for round in 1...6 {
      try desk.takeIn(Desk.item("later-\(round)"))
      let leases = try desk.claim(9)
      try end(try #require(leases.last))
      try desk.reopen()
    }
    let leases = try desk.claim(9)
    #expect(leases.map(\.suspicions) == [3, 3])
    #expect(Ledger.suspicionsBeforeSolitude == 3)
  }

  @Test func aloneTheSuspicionGoesOn() throws {
    try desk.takeIn(Desk.item("a"))
    for round in 1...6 {
      _ = try desk.claimOne()
      try desk.reopen()
      #expect(try desk.number("SELECT suspicions FROM jobs") == round)
    }
  }

  @Test func theEndOfTheKernelWeighsFourTimes() throws {
    try desk.takeIn(Desk.item("a"))
    _ = try desk.claimOne()
    try desk.reopen(machine: true)
    #expect(try desk.claimOne().suspicions == 4)
    try desk.reopen()
    #expect(try desk.claimOne().suspicions == 5)
  }

  @Test func coordinatorsThatEndNothingAreCountedUntilOneDoes() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    #expect(desk.ledger.stalls == 0)
    for round in 1...3 {
      _ = try desk.claim(2)
      try desk.reopen()
      #expect(desk.ledger.stalls == round)
    }
    let leases = try desk.claim(2)
    try end(leases[0])
    try desk.reopen()
    #expect(desk.ledger.stalls == 0)
  }

  @Test func aCoordinatorWithNothingInHandIsNoStall() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.reopen()
    try desk.reopen()
    #expect(desk.ledger.stalls == 0)
    #expect(try desk.claimOne().attempt == 1)
  }

  @Test func aPauseOutlivesTheCoordinator() throws {
    try desk.takeIn(Desk.item("a"))
    try desk.pause(Ledger.attachmentLane)
    try desk.reopen()
    #expect(try desk.claim(1).isEmpty)
  }
}
