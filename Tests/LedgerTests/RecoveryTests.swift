import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// How the next coordinator treats the leases of one that ended.
struct RecoveryTests {
  private let desk: Desk

  init() throws { desk = try Desk(inFolder: ()) }

  private func end(_ lease: Lease) throws { try desk.settle(lease, Desk.completed(lease)) }

  @Test func leasesComeBackAtOnceAndCountAgainstNobody() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let before = try desk.claim(2)
    try desk.reopen()
    let after = try desk.claim(2)
    #expect(after.map(\.job) == before.map(\.job))
    #expect(after.map(\.attempt) == [2, 2] && after.map(\.counted) == [1, 1])
    #expect(after.map(\.crashes) == [0, 0])
  }

  @Test func whatWasNotLeasedStaysAsItWas() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, after: .max))
    try desk.reopen()
    #expect(try desk.claim(2).map { [$0.attempt, $0.counted, $0.losses] } == [[1, 1, 0]])
    #expect(
      try desk.number(
        "SELECT count(*) FROM jobs WHERE state = 'scheduled' AND uncounted = 0 AND losses = 0") == 1)
  }

  // MARK: Coordinators

  @Test func everyCoordinatorIsAnother() throws {
    #expect(desk.ledger.holder == 1)
    for holder in 2...4 as ClosedRange<Int64> {
      try desk.reopen()
      #expect(desk.ledger.holder == holder)
      #expect(try desk.number("SELECT id FROM coordinators") == holder, "and it is the only one")
    }
  }

  @Test func oneThatLeavesGivesBackWhatItHasWithoutALoss() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let left = try desk.claim(2)
    try desk.ledger.leave()
    #expect(try desk.number("SELECT count(*) FROM coordinators") == 0)
    try desk.reopen()
    let leases = try desk.claim(2)
    #expect(leases.map(\.job) == left.map(\.job) && leases.map(\.losses) == [0, 0])
    #expect(leases.map(\.attempt) == [2, 2] && leases.map(\.counted) == [1, 1])
  }

  @Test func oneThatHasLeftCannotWrite() throws {
    try desk.ledger.leave()
    let error = try #require(throws: LedgerError.self) { try desk.takeIn(Desk.item("a")) }
    #expect(error.code == .fenced)
  }

  @Test func itsOwnLeasesAreNotTakenBack() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    #expect(try desk.ledger.takeBackLost() == 0)
    #expect(try desk.settle(lease, Desk.completed(lease)) == .counted)
  }

  @Test func whatOthersHaveInHandIsTakenBackWhenAsked() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    _ = try desk.claim(2)
    try desk.execute("UPDATE jobs SET holder = 99 WHERE state = 'leased'")
    try desk.execute("INSERT INTO coordinators VALUES (99, 'another', 4, 0)")
    #expect(try desk.ledger.takeBackLost() == 2)
    #expect(try desk.number("SELECT id FROM coordinators") == desk.ledger.holder)
    #expect(try desk.claim(3).map(\.losses) == [1, 1, 0])
  }

  // MARK: Losses

  @Test func everyLeaseOfALostCoordinatorIsALoss() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    try end(try #require(try desk.claim(2).last))
    try desk.reopen()
    #expect(try desk.claim(1).map(\.losses) == [1])
    try desk.reopen()
    let leases = try desk.claim(9)
    #expect(leases.map(Desk.name) == ["a", "c"] && leases.map(\.losses) == [2, 0])
  }

  /// A job whose coordinator was lost so often, with others in hand.
  private func lose(_ count: Int, _ wanted: Int = 9) throws {
    for _ in 0..<count {
      _ = try desk.claim(wanted)
      try desk.reopen()
    }
  }

  @Test func whatWasLostThreeTimesIsTheLastThatIsGiven() throws {
    #expect(Lease.lossesBeforeSolitude == 3)
    try desk.takeIn(Desk.item("a"))
    try lose(2)
    try desk.takeIn(Desk.item("before", priority: 1), Desk.item("after"))
    var leases = try desk.claim(9)
    #expect(leases.map(Desk.name) == ["before", "a", "after"] && leases.allSatisfy { !$0.isSolitary })
    try desk.reopen()
    leases = try desk.claim(9)
    #expect(leases.map(Desk.name) == ["before", "a"])
    #expect(leases.map(\.isSolitary) == [false, true])
    // It is for the coordinator to ask for no more.
    #expect(try desk.claim(9).map(Desk.name) == ["after"])
  }

  @Test func ofSeveralThatWereLostOftenOneIsGivenAtATime() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    try lose(3)
    for name in ["a", "b", "c"] {
      let leases = try desk.claim(9)
      #expect(leases.map(Desk.name) == [name] && leases.map(\.isSolitary) == [true])
      try end(try #require(leases.first))
    }
    #expect(try desk.claim(9).isEmpty)
  }

  @Test func aloneItsLossesGoOn() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    try lose(6)
    #expect(try desk.number("SELECT losses FROM jobs WHERE subject = 1") == 6)
    #expect(
      try desk.number("SELECT losses FROM jobs WHERE subject = 2") == 3, "the other was in hand no more")
  }

  @Test func anInnocentOneGetsThrough() throws {
    try desk.takeIn(Desk.item("a"))
    try lose(3)
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease))
    let again = try desk.claimOne()
    #expect(again.isSolitary && again.losses == 3 && again.counted == 2, "an attempt of its own counts")
    try end(again)
    #expect(try desk.count(.completed) == 1)
  }

  @Test func deliveriesAreNotAlone() throws {
    let events = LaneName.channel("events")
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event()] })
    for _ in 0..<4 {
      #expect(try desk.claim(9, lane: events).count == 2)
      try desk.reopen()
    }
    let deliveries = try desk.claim(9, lane: events)
    #expect(deliveries.map(\.losses) == [4, 4] && deliveries.map(\.isSolitary) == [false, false])
    #expect(deliveries.map(\.attempt) == [5, 5] && deliveries.map(\.counted) == [1, 1])
  }
}
