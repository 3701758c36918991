import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Deliveries that are leased in the transaction that adds them.
struct NewbornTests {
  private let desk: Desk
  private let lane = LaneName.channel("events")

  init() throws {
    desk = try Desk(inFolder: ())
  }

  /// Ends an attachment with events for these recipients, and asks for this number of deliveries in the same
  /// transaction.
  private func end(_ name: String, telling recipients: [String], wanting count: Int, pausing: Bool = false)
    throws
    -> ExchangeReply
  {
    try desk.takeIn(Desk.item(name))
    let lease = try desk.claimOne()
    var request = Exchange()
    request.settlements = [Settlement(lease, Desk.completed(lease) { $0.events = [Desk.event(recipients)] })]
    request.wanted = [Want(lane, count)]
    if pausing {
      request.commands = [.lane(LaneCommand(lane, .pause(Pause(.person, code: "x", reason: "y"))))]
    }
    return try desk.send(request)
  }

  private func recipients(_ leases: [Lease]) -> [String] {
    leases.compactMap { if case .delivery(let delivery) = $0.work { delivery.recipient } else { nil } }
  }

  @Test func aDeliveryIsLeasedAtOnceAndSaysWhatAClaimedOneSays() throws {
    let reply = try end("a", telling: ["ben"], wanting: 3)
    let born = try #require(reply.leases.first)
    #expect(reply.leases.count == 1 && reply.lanes.map(\.granted) == [1] && born.losses == 0)
    #expect(born.attempt == 1 && born.counted == 1 && born.crashes == 0)
    #expect(try desk.claim(9, lane: lane).isEmpty)
    // Released and claimed again, it is the same delivery with another token.
    try desk.settle(born, .released)
    let claimed = try desk.claimOne(lane: lane)
    guard case .delivery(let first) = born.work, case .delivery(let second) = claimed.work else {
      Issue.record("they are for something else")
      return
    }
    #expect(String(describing: first) == String(describing: second))
    #expect(claimed.job == born.job && claimed.token != born.token && claimed.priority == born.priority)
    #expect(try desk.settle(born, .delivered(key: first.key)) == .leaseLost, "the old token no longer counts")
    #expect(try desk.settle(claimed, .delivered(key: first.key)) == .counted)
  }

  @Test func noMoreAreLeasedThanAreWantedAndTheRestKeepTheirOrder() throws {
    let reply = try end("a", telling: ["ben", "cat", "dan", "eve"], wanting: 3)
    #expect(recipients(reply.leases) == ["ben", "cat", "dan"] && reply.lanes.map(\.granted) == [3])
    #expect(recipients(try desk.claim(9, lane: lane)) == ["eve"])
  }

  @Test func whoeverWaitsGoesFirst() throws {
    _ = try end("a", telling: ["ben"], wanting: 0)
    let reply = try end("b", telling: ["cat", "dan"], wanting: 2)
    #expect(recipients(reply.leases) == ["ben", "cat"] && reply.lanes.map(\.granted) == [2])
  }

  @Test func whoeverIsToBeTriedAgainNowGoesFirst() throws {
    let born = try #require(try end("a", telling: ["ben"], wanting: 1).leases.first)
    let reason = Reason(stage: "events", code: "x", message: "y")
    try desk.settle(born, .deliveryAgain(key: Desk.key(born), after: 0, reason: reason))
    let reply = try end("b", telling: ["cat"], wanting: 1)
    #expect(recipients(reply.leases) == ["ben"] && reply.leases.first?.attempt == 2)
  }

  @Test func aPausedLaneGivesNone() throws {
    try desk.use("events")
    let reply = try end("a", telling: ["ben"], wanting: 1, pausing: true)
    #expect(reply.leases.isEmpty && reply.lanes.map(\.granted) == [0])
    #expect(try end("b", telling: ["cat"], wanting: 1).leases.isEmpty)
    try desk.resume(lane)
    #expect(recipients(try desk.claim(9, lane: lane)) == ["ben", "cat"])
  }

  @Test func whatWasInHandIsDueAgainForTheNextCoordinator() throws {
    let born = try #require(try end("a", telling: ["ben"], wanting: 1).leases.first)
    try desk.reopen()
    let again = try desk.claimOne(lane: lane)
    #expect(again.job == born.job && again.token != born.token && again.attempt == 2)
    #expect(try desk.settle(born, .delivered(key: Desk.key(born))) == .leaseLost)
  }
}
