import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// The result of a lost lease changes nothing.
struct FencingTests {
  private let desk: Desk

  init() throws { desk = try Desk() }

  /// Every way an attachment's lease can end.
  private static func endings(_ lease: Lease) -> [Settlement.Ending] {
    [
      Desk.completed(lease) { $0.events = [Desk.event()] }, Desk.again(lease, crashed: true), .released,
      .putOff(key: Desk.key(lease), after: 0, attempt: lease.attempt, steps: [Desk.step]),
    ]
  }

  private static func deliveryEndings(_ lease: Lease) -> [Settlement.Ending] {
    let reason = Reason(stage: "x", code: "gone", message: "410")
    let key = Desk.key(lease)
    return [
      .delivered(key: key), .deliveryAgain(key: key, after: 0, reason: reason),
      .deadLetter(key: key, reason: reason),
    ]
  }

  private func expectRefused(_ lease: Lease, _ endings: [Settlement.Ending]) throws {
    let before = try desk.everything()
    for ending in endings {
      #expect(try desk.settle(lease, ending) == .leaseLost, "\(ending)")
      #expect(try desk.everything() == before, "\(ending)")
    }
  }

  @Test func aResultWithAnOlderTokenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    let old = try desk.claimOne()
    try desk.settle(old, .released)
    let new = try desk.claimOne()
    try expectRefused(old, Self.endings(old))
    #expect(try desk.settle(new, Desk.completed(new)) == .counted)
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
    #expect(try desk.settle(lease, Desk.completed(lease)) == .counted)
    try expectRefused(lease, Self.endings(lease))
  }

  @Test func twoResultsOfOneLeaseInOneTransactionAreOne() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    var request = Exchange()
    request.settlements = [
      Settlement(lease, Desk.completed(lease)), Settlement(lease, Desk.completed(lease)),
    ]
    #expect(try desk.send(request).settled == [.counted, .leaseLost])
    try desk.checkCounts()
  }

  @Test func aTokenThatWasNeverGivenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    var lease = try desk.claimOne()
    let token = lease.token
    for (holder, number) in [(0, 1), (1, 0), (0, -1), (-token.holder, -token.number)] as [(Int64, Int64)] {
      lease.token = Token(holder: token.holder + holder, number: token.number + number)
      try expectRefused(lease, Self.endings(lease))
    }
  }

  @Test func aDeliverysResultWithAnOlderTokenIsRefused() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    let old = try desk.claimOne(lane: .channel("events"))
    try desk.settle(old, .released)
    let new = try desk.claimOne(lane: .channel("events"))
    try expectRefused(old, Self.deliveryEndings(old))
    #expect(try desk.settle(new, .delivered(key: Desk.key(new))) == .counted)
    try expectRefused(new, Self.deliveryEndings(new))
  }

  @Test func aResultThatArrivesAfterRecoveryIsRefused() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"))
    let old = try desk.claimOne()
    try desk.reopen()
    #expect(try desk.settle(old, .released) == .leaseLost)
    let new = try desk.claimOne()
    #expect(new.token.holder > old.token.holder && new.token.number == old.token.number)
    for ending in Self.endings(old) { #expect(try desk.settle(old, ending) == .leaseLost) }
    #expect(try desk.settle(new, Desk.completed(new)) == .counted)
    try desk.checkCounts()
  }
}
