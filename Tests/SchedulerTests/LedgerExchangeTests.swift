import Pipeline
import Testing

@testable import LedgerPort
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

  /// What is asked of the ledger.
  private mutating func request(
    at milliseconds: UInt64, inHand: Int = 1000, isStopping: Bool = false, wanted: [Want] = [],
    questions: [ContentQuestion] = []
  ) -> LedgerRequest? {
    exchange.next(
      now: milliseconds * 1_000_000, inHand: inHand, isStopping: isStopping, deleted: { [] },
      questions: { questions.map { (1, $0) } }, wanted: { _ in wanted })
  }

  /// The exchange that is sent.
  private mutating func next(
    at milliseconds: UInt64, inHand: Int = 1000, isStopping: Bool = false, wanted: [Want] = [],
    questions: [ContentQuestion] = []
  ) -> Exchange? {
    let request = request(
      at: milliseconds, inHand: inHand, isStopping: isStopping, wanted: wanted, questions: questions)
    return if case .exchange(let exchange) = request { exchange } else { nil }
  }

  @Test mutating func nothingIsSentForNothing() {
    let request = next(at: 1)
    #expect(request == nil && exchange.isSettled)
  }

  @Test mutating func settlementsGoInTheOrderInWhichTheLeasesEnded() {
    for time in 1...5 { settle(at: UInt64(time)) }
    let request = next(at: 100)
    #expect(request?.settlements.map(\.job.subject) == [1, 2, 3, 4, 5])
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
    exchange.add(.lane(LaneCommand(.attachments, .hasten)))
    let second = next(at: 500, inHand: 1)
    #expect(second == nil && exchange.isUnderway && !exchange.isSettled)
    let sent = exchange.answered()
    #expect(sent?.settlements.map(\.flight.lease.job.subject) == [1])
    let third = next(at: 500, inHand: 1)
    #expect(third?.settlements.map(\.job.subject) == [2] && third?.commands.map(Self.lane) == [.attachments])
  }

  @Test mutating func aBatchIsSentOnceWithItsTicket() {
    exchange.add(.lane(LaneCommand(.attachments, .hasten)))
    exchange.takeIn(Intake.Batch([.takeIn([]), .lane(LaneCommand(.channel("a"), .hasten))], ticket: 7))
    let isKept = exchange.hasBatch
    let request = next(at: 1)
    let sent = exchange.answered()
    #expect(isKept && !exchange.hasBatch && sent?.batch?.ticket == 7 && sent?.batch?.commands.count == 2)
    #expect(
      request?.commands.map(Self.lane) == [nil, .channel("a"), .attachments], "a client's commands come first"
    )
    let again = next(at: 2, wanted: [Want(.attachments, 3)])
    #expect(again?.commands.isEmpty == true)
  }

  private static func lane(_ command: Command) -> LaneName? {
    if case .lane(let command) = command { command.lane } else { nil }
  }

  @Test mutating func aWishAloneIsWorthARequest() {
    let request = next(at: 1, wanted: [Want(.attachments, 3)])
    #expect(request?.wanted == [Want(.attachments, 3)])
  }

  // MARK: Numbers

  @Test mutating func eachAnsweredExchangeHasTheNextNumber() {
    var numbers: [Int64?] = []
    for time in 1...3 {
      settle(at: UInt64(time))
      let request = next(at: UInt64(time), inHand: 1)
      numbers.append(request?.number)
      _ = exchange.answered()
    }
    #expect(numbers == [1, 2, 3])
  }

  @Test mutating func aQuestionTakesNoNumber() {
    let question = ContentQuestion(
      sha256: [], size: 1, fingerprint: nil, claims: .init(declaredType: nil, fileName: "a"))
    for time in 1...3 {
      let request = next(at: UInt64(time), questions: [question])
      #expect(request?.contents.count == 1 && request?.number == 1)
      _ = exchange.answered()
    }
    let request = next(at: 4, wanted: [Want(.attachments, 1)], questions: [question])
    #expect(request?.number == 1)
    _ = exchange.answered()
    let next = next(at: 5, questions: [question])
    #expect(next?.number == 2)
  }

  // MARK: Trouble

  private static let unavailable = LedgerError(.unavailable, "another program has it")
  private static let indeterminate = LedgerError(.indeterminate, "the disk failed")

  private mutating func fail(
    _ error: LedgerError, at milliseconds: UInt64, patience: UInt64 = .max
  ) -> (again: Bool, isNew: Bool) {
    exchange.failed(error, now: milliseconds * 1_000_000, patience: patience)
  }

  /// The first exchange, with one settlement, is under way.
  private mutating func send() {
    settle(at: 1)
    let first = next(at: 1, inHand: 1)
    #expect(first?.number == 1)
  }

  @Test mutating func whatWasNotDoneIsSentAgainWhenItsTimeHasCome() {
    send()
    let failed = fail(Self.unavailable, at: 100)
    #expect(failed == (true, true) && exchange.nextTry == 150_000_000)
    settle(at: 101)
    let early = request(at: 149, inHand: 1)
    #expect(early == nil && exchange.isUnderway)
    let again = next(at: 150, inHand: 1)
    #expect(
      again?.number == 1 && again?.settlements.map(\.job.subject) == [1], "what was sent, and nothing more")
    let twice = request(at: 10_000, inHand: 1)
    #expect(twice == nil, "it is under way")
    let sent = exchange.answered()
    #expect(sent?.settlements.map(\.flight.lease.job.subject) == [1] && exchange.nextTry == nil)
    let second = next(at: 10_001, inHand: 1)
    #expect(second?.number == 2 && second?.settlements.map(\.job.subject) == [2])
  }

  @Test mutating func theWaitsGrowAndHaveABound() {
    send()
    var now: UInt64 = 0
    var waits: [UInt64] = []
    for time in 0..<12 {
      let failed = fail(Self.unavailable, at: now)
      #expect(failed == (true, time == 0), "only the first is news")
      let next = (exchange.nextTry ?? 0) / 1_000_000
      waits.append(next - now)
      now = next
      let again = request(at: now)
      #expect(again != nil)
    }
    #expect(waits == [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000, 1000, 1000])
  }

  @Test mutating func anAnswerEndsTheTrouble() {
    send()
    for time in [0, 1000, 2000] as [UInt64] {
      _ = fail(Self.unavailable, at: time)
      _ = request(at: time + 999)
    }
    _ = exchange.answered()
    settle(at: 3000)
    _ = request(at: 3000, inHand: 1)
    let failed = fail(Self.unavailable, at: 3000)
    #expect(failed == (true, true) && exchange.nextTry == 3_050_000_000)
  }

  @Test mutating func whereItsFateIsUnknownThatIsAskedFirst() {
    send()
    _ = fail(Self.indeterminate, at: 100)
    let early = request(at: 149)
    #expect(early == nil)
    guard case .fate(let asked) = request(at: 150) else {
      Issue.record("its fate is not asked")
      return
    }
    #expect(asked.number == 1 && asked.settlements.map(\.job.subject) == [1])
    exchange.notDone()
    let again = next(at: 150)
    #expect(again?.number == 1 && again?.settlements.map(\.job.subject) == [1])
    let twice = request(at: 10_000)
    #expect(twice == nil)
  }

  @Test mutating func aFateThatIsTheAnswerEndsTheExchange() {
    send()
    _ = fail(Self.indeterminate, at: 100)
    _ = request(at: 150)
    let sent = exchange.answered()
    #expect(sent?.settlements.count == 1)
    settle(at: 200)
    let second = next(at: 200, inHand: 1)
    #expect(second?.number == 2, "it is sent, and no fate is asked")
  }

  @Test mutating func aFateThatCannotBeAskedIsAskedAgain() {
    send()
    _ = fail(Self.indeterminate, at: 0)
    _ = request(at: 50)
    // The ledger is away altogether. What is not known stays so.
    _ = fail(Self.unavailable, at: 50)
    let again = request(at: 150)
    guard case .fate = again else {
      Issue.record("\(String(describing: again))")
      return
    }
  }

  @Test(
    arguments: [.inUse, .otherVersion, .unwritable, .full, .damaged, .fenced, .other] as [LedgerError.Code])
  mutating func afterAnyOtherErrorNothingIsTriedAgain(code: LedgerError.Code) {
    send()
    let failed = fail(LedgerError(code, "it is over"), at: 100)
    #expect(failed == (false, false) && exchange.nextTry == nil)
    let again = request(at: 1_000_000)
    #expect(again == nil)
  }

  private static let full = LedgerError(.full, "no room")

  private static func batch(_ ticket: UInt64) -> Intake.Batch {
    Intake.Batch([.lane(LaneCommand(.attachments, .hasten))], ticket: ticket)
  }

  /// What clients wait for is given back to be refused; the rest is tried again.
  @Test mutating func withoutRoomTheRestIsTriedAgain() {
    settle(at: 1)
    exchange.takeIn(Self.batch(7))
    let sent = next(at: 1, inHand: 1)
    #expect(sent?.commands.count == 1 && sent?.settlements.count == 1)
    let failed = exchange.failed(Self.full, now: 1_000_000, patience: .max, waitsForRoom: true)
    #expect(failed == (true, true) && exchange.isOutOfRoom)
    exchange.takeIn(Self.batch(0))
    exchange.takeIn(Self.batch(8))
    let tickets = exchange.takeOutBatches()
    #expect(tickets == [7, 8] && exchange.takesBatches)
    let early = next(at: 2, inHand: 1)
    let again = next(at: 60, inHand: 1)
    #expect(early == nil && again?.number == sent?.number)
    #expect(again?.commands.isEmpty == true && again?.settlements.count == 1)
    let answered = exchange.answered()
    #expect(answered?.batch == nil && answered?.settlements.count == 1 && !exchange.isOutOfRoom)
    // That of no client has stayed.
    let files = next(at: 61, inHand: 1)
    #expect(files?.commands.count == 1)
  }

  @Test mutating func withoutRoomNothingIsTriedForAClientThatIsRefused() {
    exchange.takeIn(Self.batch(7))
    _ = next(at: 1, inHand: 1)
    _ = exchange.failed(Self.full, now: 1_000_000, patience: .max, waitsForRoom: true)
    let tickets = exchange.takeOutBatches()
    #expect(tickets == [7] && !exchange.isUnderway && !exchange.isOutOfRoom && exchange.nextTry == nil)
  }

  @Test mutating func withoutRoomWhatMakesRoomGoesAtOnce() {
    settle(at: 1)
    _ = next(at: 1, inHand: 1)
    _ = exchange.failed(Self.full, now: 1_000_000, patience: .max, waitsForRoom: true)
    #expect(exchange.takeOutBatches().isEmpty)
    let first = exchange.addToMakeRoom(Self.batch(9))
    let second = exchange.addToMakeRoom(Self.batch(10))
    #expect(first && !second)
    let again = next(at: 2, inHand: 1)
    #expect(again?.commands.count == 1 && again?.settlements.count == 1)
    let answered = exchange.answered()
    #expect(answered?.batch?.ticket == 9)
  }

  @Test(arguments: [unavailable, indeterminate]) mutating func patienceEnds(error: LedgerError) {
    send()
    let patience = 5_000_000_000 as UInt64
    let first = fail(error, at: 1000, patience: patience)
    _ = request(at: 1050)
    let late = fail(error, at: 5999, patience: patience)
    _ = request(at: 20_000)
    let tooLate = fail(error, at: 6000, patience: patience)
    #expect(first == (true, true) && late == (true, false) && tooLate == (false, false))
  }
}

/// Which leases are asked for of all lanes together.
struct LanesTests {
  @Test func aBlockedLaneOfAttachmentsHoldsNoChannelUp() {
    let lanes = Lanes(channels: ["a", "b"], window: 8)
    let wanted = lanes.wanted(at: 1, isBlocked: true, putOff: [], awaited: 0) { HostShares($0) }
    #expect(wanted.map(\.lane) == [.channel("a"), .channel("b")] && wanted.map(\.count) == [8, 8])
  }

  @Test func aLaneInWhichSomethingWasPutOffIsAskedHowItStands() {
    let lanes = Lanes(channels: ["a"], window: 8)
    for lane in lanes.all { lane.learn(LaneState(lane.name), at: 1) }
    let wanted = lanes.wanted(at: 1, isBlocked: false, putOff: [.channel("a")], awaited: 0) { HostShares($0) }
    #expect(wanted == [Want(.channel("a"), 0)])
  }

  @Test func aLaneWithAwaitedSourcesCountsWhatElseWaits() {
    let lanes = Lanes(channels: ["a"], window: 8)
    let wanted = lanes.wanted(at: 1, isBlocked: false, putOff: [], awaited: 3) { HostShares($0) }
    #expect(
      wanted == [Want(.attachments, 8, countsWaiting: 4, inHand: [:]), Want(.channel("a"), 8, inHand: [:])])
  }

  @Test(arguments: [(100, 100), (1000, 256), (1, 1), (0, 1), (-5, 1)])
  func theWindowIsAsWideAsItMayBe(bound: Int, window: Int) {
    var lanes = Lanes(channels: [], window: 256)
    lanes.bound(bound)
    #expect(
      lanes.wanted(at: 1, isBlocked: false, putOff: [], awaited: 0, { HostShares($0) }).map(\.count) == [
        window
      ])
  }
}
