import Pipeline
import Testing

@testable import Ledger

/// The result of a lost lease changes nothing.
struct FencingTests {
  private let desk: Desk

  init() throws { desk = try Desk() }

  /// Every way an attachment's lease can end.
  private static func endings(_ lease: Lease) -> [Settlement.Ending] {
    [
      Desk.completed(lease) { $0.events = [Desk.event()] }, Desk.again(lease, crashed: true), .released,
    ]
  }

  private static func deliveryEndings(_ lease: Lease) -> [Settlement.Ending] {
    let reason = Reason(stage: "x", code: "gone", message: "410")
    let key = Desk.key(lease)
    return [
      .delivered(key: key), .deliveryAgain(key: key, dueAt: 0, reason: reason),
      .deadLetter(key: key, reason: reason),
    ]
  }

  private func expectRefused(_ lease: Lease, _ endings: [Settlement.Ending]) throws {
    let before = try desk.everything()
    for ending in endings {
      #expect(try !desk.settle(lease, ending), "\(ending)")
      #expect(try desk.everything() == before, "\(ending)")
    }
  }

  @Test func aResultWithAnOlderTokenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    let old = try desk.claimOne()
    try desk.settle(old, .released)
    let new = try desk.claimOne()
    try expectRefused(old, Self.endings(old))
    #expect(try desk.settle(new, Desk.completed(new)))
  }

  @Test func aResultForAJobThatIsNotLeasedIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, .released)
    try expectRefused(lease, Self.endings(lease))
  }

  @Test func aResultIsTakenOnce() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    #expect(try desk.settle(lease, Desk.completed(lease)))
    try expectRefused(lease, Self.endings(lease))
  }

  @Test func twoResultsOfOneLeaseInOneTransactionAreOne() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    var request = ExchangeRequest()
    request.settlements = [
      Settlement(lease, Desk.completed(lease)), Settlement(lease, Desk.completed(lease)),
    ]
    #expect(try desk.ledger.exchange(request).accepted == [true, false])
    try desk.checkCounts()
  }

  @Test func aTokenThatWasNeverGivenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    var lease = try desk.claimOne()
    lease.token += 1
    try expectRefused(lease, Self.endings(lease))
    lease.token = 0
    try expectRefused(lease, Self.endings(lease))
  }

  @Test func aDeliverysResultWithAnOlderTokenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    let old = try desk.claimOne(lane: Ledger.lane(ofChannel: "events"))
    try desk.settle(old, .released)
    let new = try desk.claimOne(lane: Ledger.lane(ofChannel: "events"))
    try expectRefused(old, Self.deliveryEndings(old))
    #expect(try desk.settle(new, .delivered(key: Desk.key(new))))
    try expectRefused(new, Self.deliveryEndings(new))
  }

  @Test func aResultThatArrivesAfterRecoveryIsRefused() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"))
    let old = try desk.claimOne()
    try desk.reopen()
    for ending in Self.endings(old) { #expect(try !desk.settle(old, ending)) }
    let new = try desk.claimOne()
    #expect(new.token > old.token, "tokens go on where the last coordinator stopped")
    for ending in Self.endings(old) { #expect(try !desk.settle(old, ending)) }
    #expect(try desk.settle(new, Desk.completed(new)))
    try desk.checkCounts()
  }

  /// Otherwise an attachment could become suspect although no later one was finished.
  @Test func aRefusedResultDoesNotMoveTheFrontier() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let leases = try desk.claim(2)
    var stale = leases[1]
    stale.token -= 1
    #expect(try !desk.settle(stale, Desk.completed(stale)))
    try desk.reopen()
    #expect(try desk.claim(2).map(\.suspicions) == [0, 0])
    #expect(desk.ledger.stalls == 1, "the coordinator got nothing done")
  }
}
