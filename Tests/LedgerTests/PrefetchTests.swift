import Pipeline
import Platform
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Which links are fetched by themselves: those of the newest messages of each conversation.
@Suite struct PrefetchTests {
  private let desk: Desk

  init() throws {
    desk = try Desk(inFolder: ())
    desk.ledger.sealer = OpenSealer()
  }

  /// Messages of a conversation, each with a link that has its name.
  private func take(
    _ messages: [String?], links: [String]? = nil, in conversation: String = "c", priority: Int64 = 0
  ) throws -> [String] {
    let items = messages.enumerated().map { place, message in
      item(message, links?[place] ?? message ?? "own", in: conversation, priority: priority)
    }
    guard case .takenIn(let report)? = try desk.command(.takeIn(items)).first else { return [] }
    return report.outcomes.compactMap { if case .added(let id) = $0 { id } else { nil } }
  }

  private func item(
    _ message: String?, _ link: String, in conversation: String = "c", priority: Int64
  ) -> IntakeItem {
    var item = IntakeItem(
      conversationId: conversation, messageId: message, senderId: "ann", participants: ["ann"],
      fileName: link, priority: priority, origin: "list:1")
    item.url = "https://\(conversation).example.com/\(link)"
    return item
  }

  /// The names of the links that are claimed, in order.
  private func claim(_ messages: Int, _ count: Int = 10, perHost: Int = 0) throws -> [String] {
    try leases(messages, count, perHost: perHost).map(name)
  }

  private func leases(_ messages: Int, _ count: Int = 10, perHost: Int = 0) throws -> [Lease] {
    var exchange = Exchange()
    exchange.wanted = [Want(.downloads, count, hosts: HostShares(perHost), prefetch: messages)]
    let reply = try desk.send(exchange)
    #expect(reply.lanes.first?.hasDue == false || reply.leases.count == count || perHost > 0)
    return reply.leases
  }

  private func name(_ lease: Lease) -> String {
    guard case .transfer(let transfer) = lease.work else { return "" }
    return String(transfer.link.url.split(separator: "/").last ?? "")
  }

  private func settle(_ lease: Lease, _ ending: Settlement.Ending) throws {
    var exchange = Exchange()
    exchange.settlements = [Settlement(lease, ending)]
    #expect(try desk.send(exchange).settled == [.counted])
  }

  /// Those that wait until somebody asks.
  private func aside() throws -> Set<String> {
    let all = try desk.ledger.transfers(after: nil, limit: 100).rows.filter(\.isNotPrefetched)
    #expect(all.allSatisfy { $0.state == .waiting && $0.saidCode == "not-prefetched" })
    let lane = try desk.ledger.status().lanes.first { $0.name == .downloads }
    #expect(lane?.notPrefetched ?? 0 == all.count)
    return Set(all.compactMap(\.fileName))
  }

  private func findings() throws -> [String] {
    var codes: [String] = []
    try desk.ledger.inspectFile { codes.append("\($0)") }
    try desk.ledger.inspectRows { codes.append("\($0.code): \($0.place)") }
    return codes
  }

  @Test func theNewestMessagesOfEachConversationGoFirst() throws {
    _ = try take(["1", "2", "3", "4"])
    _ = try take(["x", "y"], in: "d")
    let claimed = try claim(2)
    #expect(claimed.filter { "xy".contains($0) } == ["y", "x"], "the hosts have their turns")
    #expect(claimed.filter { "34".contains($0) } == ["4", "3"] && claimed.count == 4)
    #expect(try aside() == ["1", "2"])
    #expect(try claim(2).isEmpty)
    #expect(try findings().isEmpty)
  }

  @Test func withoutTheRuleTheOldestGoesFirstAndAllAreFetched() throws {
    _ = try take(["1", "2", "3"])
    #expect(try claim(0) == ["1", "2", "3"])
  }

  @Test func whatWasTakenInBeforeTheClaimCountsAsAWhole() throws {
    _ = try take(["1", "2"])
    #expect(try claim(1, 1) == ["2"])
    _ = try take(["3"])
    #expect(try claim(1) == ["3"], "the one before is under way, and stays so")
    #expect(try aside() == ["1"])
  }

  @Test func aKnownLinkThatIsAskedForIsFetched() throws {
    _ = try take(["1", "2"])
    #expect(try claim(1) == ["2"])
    #expect(try take(["1"]).isEmpty, "it is known")
    #expect(try claim(1).isEmpty)
    #expect(try take(["1"], priority: TransferPriority.asked).isEmpty)
    #expect(try claim(1) == ["1"])
  }

  @Test func askingForALinkAgainMakesItNoLessUrgent() throws {
    _ = try take(["1"], priority: 7)
    _ = try take(["1"], priority: TransferPriority.asked)
    _ = try take(["1"])
    #expect(try leases(1, 1).map(\.priority) == [7])
    // It is under way: others stand still for it from now on.
    var exchange = Exchange()
    exchange.commands = [.takeIn([item("1", "1", priority: TransferPriority.urgent)])]
    #expect(try desk.send(exchange).priorities.map(\.priority) == [TransferPriority.urgent])
  }

  @Test func allLinksOfAMessageAreOneMessage() throws {
    _ = try take(["1", "1", "2", "2"], links: ["a", "b", "c", "d"])
    #expect(try claim(1) == ["d", "c"])
    #expect(try aside() == ["a", "b"])
  }

  @Test func aLinkWithoutAMessageIsFetchedAndMovesNoOther() throws {
    _ = try take(["1"])
    _ = try take([nil, nil], links: ["e", "f"])
    #expect(try claim(1) == ["f", "e", "1"])
  }

  @Test func whatSomebodyAsksForIsFetchedAtOnce() throws {
    let ids = try take(["1", "2", "3"])
    #expect(try claim(1) == ["3"])
    var exchange = Exchange()
    exchange.commands = [.attachment(AttachmentCommand(ids[0], .prioritize(TransferPriority.urgent)))]
    let reply = try desk.send(exchange)
    #expect(reply.lanes.contains { $0.name == .downloads && $0.hasDue }, "the lane is to be asked")
    #expect(try claim(1) == ["1"])
    _ = try take(["0"], priority: 1)
    #expect(try claim(1) == ["0"])
    #expect(try aside() == ["2"])
  }

  @Test func aLinkIsWantedIfOneOfItsAttachmentsIs() throws {
    _ = try take(["1", "2", "3"], links: ["shared", "b", "c"])
    #expect(try claim(1) == ["c"])
    #expect(try aside() == ["shared", "b"])
    let last = try take(["4"], links: ["shared"])
    #expect(try claim(1) == ["shared"], "its newest attachment wants it")
    _ = try take(["5"])
    _ = try desk.command(.attachment(AttachmentCommand(last[0], .delete(by: "ann"))))
    #expect(try claim(1) == ["5"])
    #expect(try aside() == ["b"], "what is under way stays so")
  }

  @Test func whoJoinsALinkWithoutAMessageHasItFetched() throws {
    _ = try take(["1", "2"])
    #expect(try claim(1) == ["2"])
    _ = try take([nil], links: ["1"])
    #expect(try claim(1) == ["1"])
  }

  @Test func whereANewerMessageIsDeletedAnOlderOneMovesUp() throws {
    let ids = try take(["1", "2", "3", "4"])
    let leases = try leases(2)
    #expect(leases.map(name) == ["4", "3"])
    let key = try #require(desk.ledger.transfers(after: nil, limit: 9).rows.last?.key)
    try settle(
      leases[0], .fetched(key: key, FetchedContent(size: 9, sha256: Array(repeating: 7, count: 32))))
    var exchange = Exchange()
    exchange.commands = [.attachment(AttachmentCommand(ids[3], .delete(by: "ann")))]
    let reply = try desk.send(exchange)
    #expect(reply.lanes.contains { $0.name == .downloads && $0.hasDue })
    #expect(try claim(2) == ["2"])
    #expect(try aside() == ["1"])
    _ = try desk.command(.attachment(AttachmentCommand(ids[2], .delete(by: "ann"))))
    #expect(try claim(2) == ["1"])
  }

  @Test func anOldMessageThatGetsALinkIsTheNewest() throws {
    _ = try take(["1", "2"], links: ["a", "b"])
    #expect(try claim(1) == ["b"])
    #expect(try aside() == ["a"])
    _ = try take(["1"], links: ["c"])
    #expect(try claim(1) == ["c", "a"])
  }

  @Test func aCoordinatorThatBeginsFollowsItsOwnRule() throws {
    let ids = try take(["1", "2", "3", "4"])
    #expect(try claim(1) == ["4"])
    #expect(try claim(2) == ["3"])
    try desk.reopen()
    desk.ledger.sealer = OpenSealer()
    // By a command that knows no rule.
    _ = try desk.command(.attachment(AttachmentCommand(ids[3], .delete(by: "ann"))))
    #expect(try claim(2) == ["3", "2"], "what the coordinator before had is due again")
    #expect(try aside() == ["1"])
    #expect(try claim(0) == ["1"])
  }

  @Test func whatIsTriedAgainIsAskedForAnew() throws {
    _ = try take(["1", "2"])
    let lease = try #require(try leases(1).first)
    let key = try #require(desk.ledger.transfers(after: nil, limit: 9).rows.last?.key)
    let reason = Reason(stage: "downloads", code: "stalled", message: "nothing came")
    try settle(lease, .transferAgain(key: key, after: 0, isCounted: true, TransferState(), reason))
    _ = try take(["3"])
    #expect(try claim(1) == ["3"])
    #expect(try aside() == ["1", "2"])
  }

  @Test func oneThatIsTakenBackIsGoneAndOneThatIsWantedAgainWaits() throws {
    let ids = try take(["1", "2"])
    #expect(try claim(1) == ["2"])
    _ = try desk.command(.attachment(AttachmentCommand(ids[0], .cancel("no"))))
    #expect(try aside().isEmpty)
    _ = try desk.command(.attachment(AttachmentCommand(ids[0], .retry)))
    #expect(try claim(1).isEmpty)
    var exchange = Exchange()
    exchange.wanted = [Want(.attachments, 1), Want(.downloads, 1, prefetch: 1)]
    _ = try desk.send(exchange)
    #expect(try claim(1).isEmpty)
    #expect(try aside() == ["1"])
    #expect(try findings().isEmpty)
  }

  @Test func hostsThatAreBehindHaveTheirTurnWithoutWhatIsNotWanted() throws {
    _ = try take(["x", "y"], in: "other")
    _ = try take((1...30).map(String.init))
    let names = try claim(20, 4, perHost: 2)
    #expect(names.filter { "xy".contains($0) } == ["y", "x"] && names.count == 4)
    #expect(names.filter { $0.count == 2 } == ["30", "29"])
  }

  @Test func aMillionThatAreNotWantedAreNotLookedAt() throws {
    _ = try take((1...1200).map(String.init))
    var exchange = Exchange()
    exchange.wanted = [Want(.downloads, 4, prefetch: 3)]
    var (count, leases) = (0, 0)
    while true {
      let reply = try desk.send(exchange)
      (count, leases) = (count + 1, leases + reply.leases.count)
      if reply.lanes.first?.hasDue == false { break }
      try #require(count < 10)
    }
    #expect(leases == 3)
    let lane = try desk.ledger.status().lanes.first { $0.name == .downloads }
    #expect(lane?.due == 0 && lane?.notPrefetched == 1197)
  }
}
