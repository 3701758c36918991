import Pipeline
import Testing

@testable import Ledger
@testable import Scheduler

/// What goes to the ledger together, and in which order.
struct LedgerExchangeTests {
  private var exchange = LedgerExchange(Tuning())
  private var nextJob: Int64 = 1

  /// A lease that ends, so many milliseconds after the beginning.
  private mutating func settle(at milliseconds: UInt64, _ ending: Settlement.Ending = .released) {
    let flight = Flight.delivery(job: nextJob)
    nextJob += 1
    exchange.settle(PendingSettlement(flight: flight, ending: ending, since: milliseconds * 1_000_000))
  }

  private mutating func next(
    at milliseconds: UInt64, inHand: Int = 1000, isStopping: Bool = false,
    wanted: [(lane: String, count: Int)] = []
  ) -> ExchangeRequest? {
    exchange.next(
      at: Int64(milliseconds), now: milliseconds * 1_000_000, inHand: inHand, isStopping: isStopping,
      questions: { [] }, wanted: { _ in wanted })
  }

  @Test mutating func nothingIsSentForNothing() {
    let request = next(at: 1)
    #expect(request == nil && exchange.isSettled)
  }

  @Test mutating func settlementsGoInTheOrderInWhichTheLeasesEnded() {
    for time in 1...5 { settle(at: UInt64(time)) }
    let request = next(at: 100)
    #expect(request?.settlements.map(\.job) == [1, 2, 3, 4, 5])
  }

  @Test mutating func fewSettlementsGatherWhileManyAreInHand() {
    settle(at: 1)
    let early = next(at: 10)
    let late = next(at: 11)
    #expect(early == nil && late?.settlements.count == 1, "ten milliseconds are as long as one waits")
  }

  @Test mutating func aSettlementGoesAtOnceWhereLittleElseIsInHand() {
    settle(at: 1)
    let request = next(at: 1, inHand: 64)
    #expect(request?.settlements.count == 1)
  }

  @Test mutating func enoughSettlementsGoAtOnce() {
    for _ in 1...64 { settle(at: 1) }
    let request = next(at: 1)
    #expect(request?.settlements.count == 64)
  }

  @Test mutating func aStopSendsWhatThereIs() {
    settle(at: 1)
    let request = next(at: 1, isStopping: true)
    #expect(request?.settlements.count == 1)
  }

  @Test mutating func theNextRequestWaitsForTheReply() {
    settle(at: 1)
    _ = next(at: 1, inHand: 1)
    settle(at: 2)
    exchange.pause("attachments", code: "disk-full", reason: "no room")
    let second = next(at: 500, inHand: 1)
    #expect(second == nil && exchange.isUnderway && !exchange.isSettled)
    let sent = exchange.answered()
    #expect(sent?.settlements.map(\.flight.lease.job) == [1])
    let third = next(at: 500, inHand: 1)
    #expect(third?.settlements.map(\.job) == [2] && third?.pauses.map(\.lane) == ["attachments"])
  }

  @Test mutating func aBatchIsSentOnceWithItsTicket() {
    exchange.takeIn(Intake.Batch(items: [], ticket: 7))
    let isKept = exchange.hasBatch
    _ = next(at: 1, wanted: [("attachments", 3)])
    let sent = exchange.answered()
    #expect(isKept && !exchange.hasBatch && sent?.ticket == 7)
  }

  @Test mutating func aWishAloneIsWorthARequest() {
    let request = next(at: 1, wanted: [("attachments", 3)])
    #expect(request?.wanted.map(\.count) == [3] && request?.time == 1)
  }
}

/// Which leases are asked for of all lanes together.
struct LanesTests {
  @Test func aBlockedLaneOfAttachmentsHoldsNoChannelUp() {
    let lanes = Lanes(channels: ["a", "b"], window: 8)
    let wanted = lanes.wanted(at: 1, isBlocked: true, putOff: [])
    #expect(wanted.map(\.lane) == ["channel:a", "channel:b"] && wanted.map(\.count) == [8, 8])
  }

  @Test func aLaneInWhichSomethingWasPutOffIsAskedHowItStands() {
    let lanes = Lanes(channels: ["a"], window: 8)
    for lane in lanes.all { lane.learn(LaneStanding(name: lane.name)) }
    let wanted = lanes.wanted(at: 1, isBlocked: false, putOff: ["channel:a"])
    #expect(wanted.map(\.lane) == ["channel:a"] && wanted.map(\.count) == [0])
  }

  @Test func afterCoordinatorsThatGotNothingDoneOneAttachmentIsInHandUntilOneHasEnded() {
    var lanes = Lanes(channels: [], window: 256)
    lanes.bound(100, isCareful: true)
    #expect(lanes.wanted(at: 1, isBlocked: false, putOff: []).map(\.count) == [1])
    lanes.openWindow()
    #expect(lanes.wanted(at: 1, isBlocked: false, putOff: []).map(\.count) == [100])
  }
}
