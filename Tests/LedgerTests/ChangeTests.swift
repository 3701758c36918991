import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// The stream of changes: a reader that follows it misses nothing.
struct ChangeTests {
  private let desk: Desk
  private let events = LaneName.channel("events")

  init() throws {
    desk = try Desk(inFolder: ())
    try desk.execute("PRAGMA synchronous = OFF")
  }

  /// What one exchange tells: its position, and the changes there.
  @discardableResult
  private func changes(_ body: () throws -> Void) throws -> [Change]? {
    let before = try desk.ledger.position()
    try body()
    let after = try desk.ledger.position()
    #expect(after.history == before.history)
    if after == before { return nil }
    #expect(after.number == before.number + 1, "one for each exchange")
    let page = try #require(try desk.ledger.changes(since: before, limit: 1000))
    #expect(page.next == after && !page.hasMore)
    return page.changes
  }

  // MARK: What is told

  @Test func whatIsVisibleIsToldAndNothingElse() throws {
    #expect(try desk.ledger.position().number == 0)
    var leases: [Lease] = []
    let takenIn = try #require(try changes { try desk.takeIn(Desk.item("a"), Desk.item("b")) })
    let ids = try desk.ledger.attachments(idPrefix: "").map(\.origin.id)
    #expect(takenIn == ids.map { Change(.attachment, $0) })
    #expect(try changes { try desk.takeIn(Desk.item("a")) } == nil, "it is known")
    #expect(try changes { leases = try desk.claim(2) } == nil)
    #expect(try changes { try desk.settle(leases[1], .released) } == nil)
    #expect(try changes { try desk.settle(leases[1], .released) } == nil)
    #expect(
      try changes {
        try desk.settle(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event()] })
      } == [Change(.attachment, ids[0])])
    leases = try desk.claim(1)
    #expect(try changes { try desk.settle(leases[0], Desk.again(leases[0])) } == nil)
    let deliveries = try desk.claim(2, lane: events)
    let told = try desk.ledger.deliveries(of: 1).map(\.id)
    #expect(
      try changes {
        try desk.settle(
          deliveries[1], .deliveryAgain(key: Desk.key(deliveries[1]), after: 0, reason: Desk.reason))
      } == nil)
    let again = try desk.claimOne(lane: events)
    #expect(
      try changes { try desk.settle(deliveries[0], .delivered(key: Desk.key(deliveries[0]))) }
        == [Change(.delivery, told[0])])
    #expect(
      try changes { try desk.settle(again, .deadLetter(key: Desk.key(again), reason: Desk.reason)) }
        == [Change(.delivery, told[1])])
  }

  @Test func commandsAreToldWhereTheyChangedSomething() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.ended(lease, .rejected))
    try desk.use("events")
    #expect(try changes { try desk.pause() } == [Change(.lane, "attachments")])
    #expect(try changes { try desk.pause() } == nil)
    #expect(try changes { try desk.resume(.attachments, .person) } == nil)
    #expect(try changes { try desk.resume() } == [Change(.lane, "attachments")])
    #expect(try changes { try desk.pause(events) } == [Change(.lane, "channel:events")])
    #expect(try changes { try desk.pause(.channel("none")) } == nil)
    #expect(try changes { try desk.retry("nobody's") } == nil)
    #expect(try changes { try desk.retry(Desk.id(lease)) } == [Change(.attachment, Desk.id(lease))])
    #expect(try changes { try desk.retry(Desk.id(lease)) } == nil)
  }

  @Test func aLaneThatIsChangedTwiceInOneExchangeIsToldOnce() throws {
    let pause = Command.lane(LaneCommand(.attachments, .pause(Pause(.person, code: "c", reason: "r"))))
    let fault = Command.lane(LaneCommand(.attachments, .pause(Pause(.fault, code: "c", reason: "r"))))
    let resume = Command.lane(LaneCommand(.attachments, .resume(nil)))
    #expect(try changes { try desk.command(pause, fault) } == [Change(.lane, "attachments")])
    #expect(
      try changes { try desk.command(resume, .takeIn([]), pause) } == [Change(.lane, "attachments")])
  }

  @Test func theReplyHasThePosition() throws {
    var exchange = Exchange()
    exchange.commands = [.takeIn([Desk.item("a")])]
    let reply = try desk.send(exchange)
    #expect(try reply.position == desk.ledger.position() && reply.position?.number == 1)
    #expect(try desk.send(exchange).position == nil)
    exchange = Exchange()
    exchange.wanted = [Want(.attachments, 1)]
    #expect(try desk.send(exchange).position == nil)
    #expect(try desk.ledger.position().number == 1)
  }

  @Test func anExchangeThatFailsTakesNoPosition() throws {
    try desk.takeIn(Desk.item("a"))
    let before = try desk.ledger.position()
    try desk.execute(
      "CREATE TRIGGER no_b BEFORE INSERT ON attachments WHEN new.file_name = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    #expect(throws: LedgerError.self) { try desk.takeIn(Desk.item("c"), Desk.item("b")) }
    #expect(try desk.ledger.position() == before)
    #expect(try changes { try desk.takeIn(Desk.item("d")) }?.count == 1)
  }

  @Test func positionsGoOnAfterAReopening() throws {
    try desk.takeIn(Desk.item("a"))
    let before = try desk.ledger.position()
    try desk.reopen()
    #expect(try desk.ledger.position() == before)
    #expect(try changes { try desk.takeIn(Desk.item("b")) }?.count == 1)
  }

  @Test func aStartThatLiftsAPauseTellsIt() throws {
    try desk.use("events")
    try desk.pause(events, .fault)
    try desk.pause(.attachments, .person)
    #expect(try changes { try desk.reopen() } == [Change(.lane, "channel:events")])
    #expect(try changes { try desk.reopen() } == nil)
    #expect(try changes { try desk.takeIn(Desk.item("a")) }?.count == 1)
  }

  // MARK: Reading

  private static func name(_ change: Change) -> String { "\(change.kind) \(change.id)" }

  /// What a user can see of each thing.
  private func visible() throws -> [String: String] {
    var seen: [String: String] = [:]
    let connection = desk.ledger.connection
    try connection.prepare("SELECT id, status FROM attachments").rows {
      seen[Self.name(Change(.attachment, $0.text(0)))] = $0.text(1)
    }
    try connection.prepare("SELECT id, status FROM deliveries WHERE status <> 'pending'").rows {
      seen[Self.name(Change(.delivery, $0.text(0)))] = $0.text(1)
    }
    try connection.prepare(
      """
      SELECT CASE name WHEN '' THEN kind ELSE kind || ':' || name END, group_concat(cause)
      FROM lanes JOIN pauses ON lane = key GROUP BY key
      """
    ).rows { seen[Self.name(Change(.lane, $0.text(0)))] = $0.text(1) }
    return seen
  }

  private func randomExchange(_ step: Int, _ held: inout [Lease], _ random: inout SplitMix) throws -> Exchange
  {
    var exchange = Exchange()
    if Bool.random(using: &random) {
      exchange.commands.append(
        .takeIn((0..<Int.random(in: 0...3, using: &random)).map { Desk.item("\(step)-\($0)") }))
    }
    let lanes = [LaneName.attachments, events]
    if Int.random(in: 0..<4, using: &random) == 0, let lane = lanes.randomElement(using: &random) {
      let pause = Pause(Bool.random(using: &random) ? .person : .fault, code: "c", reason: "r")
      exchange.commands.append(
        .lane(LaneCommand(lane, Bool.random(using: &random) ? .pause(pause) : .resume(nil))))
    }
    if Int.random(in: 0..<4, using: &random) == 0,
      let record = try desk.ledger.attachments(idPrefix: "").randomElement(using: &random)
    {
      exchange.commands.append(.retry(record.origin.id))
    }
    for _ in 0..<Int.random(in: 0...3, using: &random) where !held.isEmpty {
      let lease = held.remove(at: Int.random(in: held.indices, using: &random))
      exchange.settlements.append(Settlement(lease, ending(of: lease, &random)))
    }
    exchange.wanted = lanes.map { Want($0, Int.random(in: 0...2, using: &random)) }
    return exchange
  }

  private func ending(of lease: Lease, _ random: inout SplitMix) -> Settlement.Ending {
    let choice = Int.random(in: 0..<4, using: &random)
    if choice == 0 { return .released }
    switch lease.work {
    case .attachment where choice == 1:
      return Desk.ended(lease, .failed) { $0.events = [Desk.event(["ben"])] }
    case .attachment: return Desk.completed(lease) { $0.events = [Desk.event()] }
    case .delivery(let delivery):
      return choice == 1
        ? .deadLetter(key: delivery.key, reason: Desk.reason) : .delivered(key: delivery.key)
    case .transfer: return .released
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func aReaderFromAnyPositionGetsEveryChangeAfterIt(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    try desk.use("events")
    var held: [Lease] = []
    var seen = try visible()
    /// The changes at each position, in order.
    var told: [[Change]] = []
    for step in 0..<150 {
      var reply = ExchangeReply()
      let exchange = try randomExchange(step, &held, &random)
      let new = try changes { reply = try desk.send(exchange) } ?? []
      held += reply.leases
      let now = try visible()
      let changed = Set(now.keys).union(seen.keys).filter { now[$0] != seen[$0] }
      let names = new.map(Self.name)
      #expect(changed.isSubset(of: names), "step \(step) changed \(changed) and told \(new)")
      #expect(Set(names).count == names.count, "none is told twice")
      seen = now
      if !new.isEmpty { told.append(new) }
    }
    #expect(told.count > 50)
    let end = try desk.ledger.position()
    #expect(end.number == Int64(told.count))
    for first in stride(from: 0, through: told.count, by: 7) {
      for limit in [1, 5, 1000] {
        var (read, position) = ([] as [Change], Position(history: end.history, number: Int64(first)))
        var pages = 0
        while true {
          let page = try #require(try desk.ledger.changes(since: position, limit: limit))
          #expect(page.next.number >= position.number && page.next.history == end.history)
          read += page.changes
          position = page.next
          pages += 1
          if !page.hasMore { break }
          #expect(page.changes.count >= limit)
        }
        #expect(read == told[first...].flatMap { $0 } && position == end, "from \(first) by \(limit)")
        if limit == 1 { #expect(pages == max(told.count - first, 1), "a page ends where an exchange does") }
      }
    }
  }

  @Test func anotherConnectionReadsTheSame() throws {
    try desk.takeIn(Desk.item("a"))
    let reader = try SQLiteLedger(reading: desk.folder)
    let start = try reader.position()
    try desk.takeIn(Desk.item("b"))
    let page = try #require(try reader.changes(since: start, limit: 9))
    #expect(try page.changes.count == 1 && page.next == desk.ledger.position())
  }

  @Test func whereNothingHasChangedNothingIsTold() throws {
    try desk.takeIn(Desk.item("a"))
    let position = try desk.ledger.position()
    let page = try #require(try desk.ledger.changes(since: position, limit: 9))
    #expect(page == ChangePage(changes: [], next: position, hasMore: false))
  }

  @Test func aPositionOfAnotherHistoryOrOfTheFutureIsNone() throws {
    try desk.takeIn(Desk.item("a"))
    let position = try desk.ledger.position()
    #expect(
      try desk.ledger.changes(
        since: Position(history: position.history &+ 1, number: 0), limit: 9) == nil)
    #expect(
      try desk.ledger.changes(
        since: Position(history: position.history, number: position.number + 1), limit: 9) == nil)
  }

  @Test func twoLedgersHaveTwoHistories() throws {
    #expect(try desk.ledger.position().history != Desk().ledger.position().history)
  }

  @Test func aLedgerThatWasRestoredHasAnotherHistory() throws {
    try desk.takeIn(Desk.item("a"))
    let before = try desk.ledger.position()
    let file = try desk.folder.path + "/copy.db"
    _ = try LedgerBackup(of: desk.folder, to: file).make(replacing: false)
    #expect(try desk.ledger.position() == before, "the ledger itself goes on")
    let restored = try SQLiteLedger(path: file)
    let position = try restored.position()
    #expect(position.history != before.history && position.history != 0)
    #expect(try restored.changes(since: before, limit: 9) == nil)
    #expect(try SQLiteLedger(path: file).position() == position, "it keeps it")
  }

  // MARK: Old changes

  @Test func oldChangesAreDroppedWhileNobodyWaits() throws {
    let desk = try Desk()
    let kept = SQLiteLedger.changesKept
    let history = try desk.ledger.position().history
    func oldest() throws -> Int64 { try desk.number("SELECT min(number) FROM changes") }
    for index in 0..<(kept + 1000) {
      if index % 2 == 0 { try desk.pause() } else { try desk.resume() }
    }
    desk.ledger.rest(isIdle: true)
    #expect(try oldest() == 1, "a thousand are dropped at once, and not fewer")
    try desk.pause()
    desk.ledger.rest(isIdle: false)
    #expect(try oldest() == 1)
    desk.ledger.rest(isIdle: true)
    #expect(try desk.number("SELECT count(*) FROM changes") == kept)
    let first = try oldest() - 1
    func changes(since number: Int64) throws -> ChangePage? {
      try desk.ledger.changes(since: Position(history: history, number: number), limit: 1)
    }
    #expect(try changes(since: first)?.next.number == first + 1)
    #expect(try changes(since: first - 1) == nil, "what came after it is no longer there")
    #expect(try changes(since: 0) == nil)
    #expect(try desk.ledger.position().number == kept + 1001)
    try desk.resume()
    #expect(try desk.ledger.position().number == kept + 1002, "positions go on")
  }
}
