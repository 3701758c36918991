import LedgerPort
import ModelLedger
import Testing

/// What holds between coordinators of one ledger. SQLite has one at a time.
struct CoordinatorTests {
  private let time = StillClock()
  private let ledger: ModelLedger

  init() {
    ledger = ModelLedger(clock: { [time] in time.now })
  }

  /// A coordinator, with the numbers of its exchanges.
  private final class Member {
    let writer: ModelWriter
    private var number: Int64 = 0

    init(_ writer: ModelWriter) {
      self.writer = writer
    }

    @discardableResult
    func exchange(_ fill: (inout Exchange) -> Void) throws -> ExchangeReply {
      var exchange = Exchange(number: number + 1)
      fill(&exchange)
      let reply = try writer.exchange(exchange)
      number += 1
      return reply
    }

    func claim(_ count: Int, _ lane: LaneName = .attachments) throws -> [String] {
      try leases(count, lane).map(Sample.name)
    }

    func leases(_ count: Int, _ lane: LaneName = .attachments) throws -> [Lease] {
      try exchange { $0.wanted = [Want(lane, count)] }.leases
    }

    func takeIn(_ names: String...) throws {
      try exchange { $0.commands = [.takeIn(names.map { Sample.item($0) })] }
    }

    func settle(_ lease: Lease, _ ending: Settlement.Ending) throws -> [SettlementOutcome] {
      try exchange { $0.settlements = [Settlement(lease, ending)] }.settled
    }
  }

  private func join(_ host: String = "one") throws -> Member { Member(try ledger.join(host)) }

  @Test func twoShareALaneAndEachHasItsOwn() throws {
    let (first, second) = (try join(), try join("two"))
    try first.takeIn("a", "b", "c")
    #expect(try first.claim(1) == ["a"] && second.claim(1) == ["b"] && first.claim(9) == ["c"])
    #expect(first.writer.holder != second.writer.holder)
  }

  @Test func aLeaseOfAnotherSettlesNothing() throws {
    let (first, second) = (try join(), try join("two"))
    try first.takeIn("a")
    let lease = try #require(try first.leases(1).first)
    var stolen = lease
    stolen.token.holder = second.writer.holder
    #expect(try second.settle(stolen, Sample.ended(lease)) == [.leaseLost])
    #expect(try second.settle(lease, Sample.ended(lease)) == [.counted], "whoever brings it")
  }

  @Test func oneAtATimeHasTheDeliveriesOfAChannel() throws {
    let (first, second) = (try join(), try join("two"))
    try first.takeIn("a")
    let lease = try #require(try first.leases(1).first)
    _ = try first.settle(lease, Sample.ended(lease) { $0.events = [Sample.event()] })
    let held = try #require(try first.leases(1, Sample.events).first)
    #expect(try second.claim(1, Sample.events).isEmpty)
    _ = try first.settle(held, .delivered(key: Sample.key(held)))
    #expect(try second.claim(1, Sample.events) == ["ben"])
    #expect(try first.claim(1, Sample.events).isEmpty)
    try second.writer.leave()
    #expect(try first.claim(1, Sample.events) == ["ben"])
  }

  @Test func whoIsOverdueIsTakenForLostAndNobodyElse() throws {
    let (first, second) = (try join(), try join("two"))
    try first.takeIn("a", "b")
    let lease = try #require(try first.leases(1).first)
    time.pass(15_000)
    #expect(try second.writer.takeBackLost() == 0, "it has its time still")
    second.writer.rest(isIdle: true)
    time.pass(1)
    #expect(try second.writer.takeBackLost() == 1)
    #expect(try second.leases(9).map(\.losses) == [1, 0])
    expectError(.fenced) { _ = try first.settle(lease, Sample.ended(lease)) }
    time.pass(15_000)
    let third = try join("three")
    #expect(try third.claim(9).isEmpty, "resting kept the second alive")
  }

  @Test func aStartLiftsTheFaultsOfItsOwnHost() throws {
    let first = try join("one")
    try first.exchange { $0.commands = [.lane(LaneCommand(.attachments, .pause(Sample.disk)))] }
    let second = try join("two")
    #expect(try second.exchange { $0.wanted = [Want(.attachments, 0)] }.lanes[0].pause?.cause == .fault)
    let third = try join("one")
    #expect(try third.exchange { $0.wanted = [Want(.attachments, 0)] }.lanes[0].pause == nil)
  }

  @Test(arguments: [ModelFault.unavailable, .lostAnswer, .lostRequest])
  func aFaultOnTheWayIsToldByItsFate(fault: ModelFault) throws {
    let writer = try ledger.join()
    let reader = ledger.reader()
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Sample.item("a")])]
    writer.fault = { fault }
    expectError(fault == .unavailable ? .unavailable : .indeterminate) { _ = try writer.exchange(exchange) }
    let isDone = fault == .lostAnswer
    #expect(try reader.status().attachments.map(\.count).reduce(0, +) == (isDone ? 1 : 0))
    let fate = try writer.fate(of: exchange)
    #expect(fate.map { Sample.counted($0.results) } == (isDone ? [.takenIn(Sample.report(added: 1))] : nil))
    writer.fault = { .none }
    #expect(
      Sample.counted(try writer.exchange(exchange).results) == [.takenIn(Sample.report(added: 1))],
      "once, whatever came")
  }

  @Test func aSnapshotSeesOneMoment() throws {
    let member = try join()
    let reader = ledger.reader()
    try member.takeIn("a")
    try reader.snapshot {
      try member.takeIn("b")
      #expect(
        try reader.attachments(AttachmentFilter(statuses: [.queued]), after: nil, limit: 9).rows.count == 1)
    }
    #expect(
      try reader.attachments(AttachmentFilter(statuses: [.queued]), after: nil, limit: 9).rows.count == 2)
  }
}
