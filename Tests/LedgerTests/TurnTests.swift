import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Who goes first of those that wait to be fetched: users have their turns, and of each the hosts.
@Suite struct TurnTests {
  private let desk: Desk

  init() throws {
    desk = try Desk()
    desk.ledger.sealer = OpenSealer()
  }

  /// Links of a user, in order; `nil`: of a service.
  private func take(_ user: String?, _ links: [String], priority: Int64 = 0) throws {
    let items = links.map { link in
      var item = IntakeItem(
        conversationId: "c", messageId: nil, senderId: user ?? "service", participants: ["ann"],
        fileName: link, priority: priority, origin: "list:1")
      (item.url, item.linkScope) = ("https://\(link)", user)
      return item
    }
    #expect(try desk.takeIn(items).added == links.count)
  }

  private func links(_ name: String, hosts: Int, each: Int) -> [String] {
    (1...each).flatMap { number in (1...hosts).map { "\(name)-\($0).example.com/\(number)" } }
  }

  private func leases(_ want: Want) throws -> [Lease] {
    var exchange = Exchange()
    exchange.wanted = [want]
    return try desk.send(exchange).leases
  }

  /// The links that are claimed, in order.
  private func claim(_ count: Int, newcomers: Int = 0, _ hosts: HostShares = HostShares(6)) throws -> [String]
  {
    try leases(Want(.downloads, count, hosts: hosts, newcomers: newcomers)).map(Self.link)
  }

  private static func link(_ lease: Lease) -> String {
    guard case .transfer(let transfer) = lease.work else { return "" }
    return String(transfer.link.url.dropFirst(8))
  }

  private static func host(_ link: String) -> Substring { link.prefix { $0 != "/" } }

  /// The first letter of each, which says whose it is.
  private static func users(_ links: [String]) -> String { links.map { String($0.prefix(1)) }.joined() }

  @Test func aUserWithOneLinkIsServedInTheFirstRound() throws {
    try take("ann", links("a", hosts: 60, each: 5))
    try take("ben", ["b.example.com/1"])
    let claimed = try claim(16)
    #expect(claimed.count == 16 && claimed.prefix(2).contains("b.example.com/1"), "\(claimed)")
  }

  @Test func hostsThatCrawlComeAfterAllOthersAndHaveNoneOfWhatIsKeptForThese() throws {
    try take(nil, links("slow", hosts: 1, each: 6) + links("other", hosts: 2, each: 1))
    let first = try leases(Want(.downloads, 1, hosts: HostShares(6)))
    #expect(first.map(Self.link).map(Self.host) == ["slow-1.example.com"])
    guard case .transfer(let transfer) = first[0].work else { return }
    var shares = HostShares(6)
    (shares.crawling, shares.reserved) = ([transfer.host], 2)
    #expect(try claim(4, shares).map(Self.host).sorted() == ["other-1.example.com", "other-2.example.com"])
    #expect(try claim(2, shares).isEmpty)
    #expect(try claim(4, shares).map(Self.host) == ["slow-1.example.com", "slow-1.example.com"])
    try take(nil, ["slow-1.example.com/urgent"], priority: TransferPriority.urgent)
    #expect(try claim(2, shares) == ["slow-1.example.com/urgent"])
  }

  @Test func usersGetOneEachInTurnWhateverTheyHaveHandedIn() throws {
    try take("ann", links("a", hosts: 60, each: 2))
    try take(nil, links("s", hosts: 9, each: 3))
    try take("ben", links("b", hosts: 2, each: 4))
    let all = Self.users(try claim(9))
    let round = all.prefix(3)
    #expect(round.sorted() == ["a", "b", "s"] && all == String(repeating: String(round), count: 3))
    // The next claims go on with the round.
    #expect(try (1...6).map { _ in Self.users(try claim(1)) }.joined() == round + round)
  }

  @Test func eachHostOfAUserGetsOneBeforeAnyGetsItsSecond() throws {
    try take("ann", ["a.example.com/1", "a.example.com/2", "a.example.com/3"])
    try take("ann", ["b.example.com/1", "c.example.com/1", "c.example.com/2"])
    let claimed = try claim(4)
    #expect(Set(claimed.prefix(3).map(Self.host)).count == 3, "\(claimed)")
    let oldest = ["a", "b", "c"].map { "\($0).example.com/1" }
    #expect(claimed.prefix(3).sorted() == oldest, "\(claimed)")
    let rest = try claim(9)
    #expect(Set(claimed + rest).count == 6 && claimed.count + rest.count == 6)
  }

  @Test func theHostsOfAUserHaveTheirTurnsFromClaimToClaim() throws {
    try take("ann", links("a", hosts: 5, each: 3))
    let claimed = try (1...15).flatMap { _ in try claim(1) }
    for round in 0..<3 { #expect(Set(claimed[(round * 5)..<(round * 5 + 5)].map(Self.host)).count == 5) }
  }

  @Test func theHasteOfAUserIsNoOthers() throws {
    try take("ann", links("a", hosts: 30, each: 1))
    try take("ann", ["a.example.com/now"], priority: TransferPriority.hastened)
    try take("ben", ["b.example.com/1", "b.example.com/2"])
    let claimed = try claim(4)
    #expect(Self.users(claimed).sorted() == ["a", "a", "b", "b"], "\(claimed)")
    #expect(claimed.first { $0.hasPrefix("a") } == "a.example.com/now", "it goes ahead of the user's own")
  }

  @Test func whatServicesWantBeforeOthersGoesBeforeUsers() throws {
    try take("ann", links("a", hosts: 5, each: 2), priority: 9)
    try take(nil, ["s.example.com/low", "s.example.com/high", "s-2.example.com/middle"])
    try take(nil, ["s-3.example.com/middle"], priority: 2)
    try take(nil, ["s-4.example.com/high"], priority: 7)
    #expect(try claim(2) == ["s-4.example.com/high", "s-3.example.com/middle"])
    #expect(Self.users(try claim(2)).sorted() == ["a", "s"])
  }

  @Test func whatIsUrgentGoesBeforeAll() throws {
    try take(nil, links("s", hosts: 3, each: 2), priority: 50)
    try take("ann", ["a.example.com/1", "a.example.com/2"], priority: TransferPriority.urgent)
    try take("ben", ["b.example.com/1"], priority: TransferPriority.urgent + 1)
    #expect(try claim(3) == ["b.example.com/1", "a.example.com/1", "a.example.com/2"])
  }

  @Test func whatMayWaitComesAfterAllOthers() throws {
    try take("ann", links("a", hosts: 3, each: 1), priority: -1)
    try take("ben", links("b", hosts: 2, each: 2))
    try take(nil, ["s.example.com/1"], priority: -1)
    let claimed = Self.users(try claim(9))
    #expect(claimed.hasPrefix("bbbb") && claimed.dropFirst(4).sorted() == ["a", "a", "a", "s"], "\(claimed)")
  }

  // MARK: Newcomers

  @Test func whoHasNoneInHandGetsOneAlthoughAllAreTaken() throws {
    try take("ann", links("a", hosts: 60, each: 5))
    #expect(try claim(16).count == 16)
    #expect(try claim(0, newcomers: 8).isEmpty, "there is no other")
    try take(nil, ["s.example.com/1"])
    try take("ben", ["b.example.com/1", "b.example.com/2"])
    try take("cat", ["c.example.com/1"], priority: -1)
    #expect(Set(try claim(0, newcomers: 8)) == ["b.example.com/1", "c.example.com/1"])
    #expect(try claim(0, newcomers: 8).isEmpty, "each has one")
    try take(nil, ["s.example.com/2"], priority: TransferPriority.urgent)
    #expect(try claim(0, newcomers: 8) == ["s.example.com/2"], "what is urgent waits for no place")
  }

  @Test func noMoreNewcomersAreTakenThanAreWanted() throws {
    for number in 1...9 { try take("\(number)", ["\(number).example.com/1", "\(number).example.com/2"]) }
    let first = try claim(2, newcomers: 3)
    #expect(Set(Self.users(first)).count == 5)
    let second = try claim(0, newcomers: 3)
    #expect(Set(Self.users(first + second)).count == 8, "those who have none")
  }

  // MARK: Hosts that do not answer

  @Test func hostsThatRestKeepNoOthersFromTheirTurns() throws {
    try take("ann", links("a", hosts: 200, each: 2), priority: 5)
    let resting = try leases(Want(.downloads, 400)).map { lease -> Int64 in
      guard case .transfer(let transfer) = lease.work else { return 0 }
      return transfer.host
    }
    #expect(Set(resting).count == 200)
    try desk.execute("UPDATE jobs SET state = 'due', holder = NULL, token = NULL WHERE kind = 'transfer'")
    try take("ann", ["lower.example.com/1"])
    try take("ben", ["b.example.com/1"], priority: -3)
    let shares = HostShares(6, resting: Set(resting))
    var claimed: [String] = []
    for _ in 0..<8 where claimed.count < 2 { claimed += try claim(1, shares) }
    #expect(Set(claimed) == ["lower.example.com/1", "b.example.com/1"])
  }

  @Test func aHostHasItsShareHoweverManyUsersWantIt() throws {
    for user in ["ann", "ben", "cat"] { try take(user, (1...4).map { "x.example.com/\(user)-\($0)" }) }
    try take("ann", ["y.example.com/1"])
    let claimed = try claim(9, newcomers: 9, HostShares(2))
    #expect(claimed.count == 3 && claimed.contains("y.example.com/1"), "\(claimed)")
    #expect(claimed.count { $0.hasPrefix("x") } == 2, "\(claimed)")
  }

  private func hosts(of links: [String]) throws -> Set<Int64> {
    var hosts: Set<Int64> = []
    for lease in try leases(Want(.downloads, links.count, hosts: HostShares())) {
      guard case .transfer(let transfer) = lease.work, links.contains(Self.link(lease)) else { continue }
      hosts.insert(transfer.host)
    }
    try desk.execute("UPDATE jobs SET state = 'due', holder = NULL, token = NULL WHERE kind = 'transfer'")
    return hosts
  }

  @Test func hostsThatHaveNotAnsweredLeavePlacesToThoseThatHave() throws {
    let good = (1...10).map { "good.example.com/\($0)" }
    try take("ann", good)
    let known = try hosts(of: good)
    #expect(known.count == 1)
    try take("ann", links("silent", hosts: 60, each: 3))
    let shares = HostShares(6, known: known, unknown: 4)
    let claimed = try claim(16, shares)
    #expect(claimed.count { $0.hasPrefix("good") } == 6, "\(claimed)")
    #expect(claimed.count { $0.hasPrefix("silent") } == 8, "as many as there are connections: \(claimed)")
    // Those in hand count.
    try desk.execute(
      """
      UPDATE jobs SET state = 'scheduled' WHERE state = 'due' AND kind = 'transfer'
        AND subject IN (SELECT key FROM transfers WHERE host IN (\(known.map(String.init).joined(separator: ","))))
      """)
    #expect(try claim(2, shares).isEmpty)
  }

  // MARK: What is on record

  private func senders() throws -> [Int64] {
    var senders: [Int64] = []
    let sql = "SELECT sender FROM turns ORDER BY transfer_key"
    try desk.ledger.connection.prepare(sql).rows { senders.append($0.integer(0)) }
    return senders
  }

  @Test func aJobThatIsMadeAgainHasItsSender() throws {
    try take("ann", ["a.example.com/1"])
    try take(nil, ["s.example.com/1"])
    let before = try senders()
    #expect(before.count == 2 && before[0] != 0 && before[1] == 0)
    // Its transfer fails, and a person wants it once more.
    let reason = Reason(stage: "downloads", code: "gone", message: "it answers 410")
    for lease in try leases(Want(.downloads, 9)) {
      guard case .transfer(let transfer) = lease.work else { continue }
      #expect(try desk.settle(lease, .notFetched(key: transfer.key, reason, isRejected: false)) == .counted)
    }
    for lease in try leases(Want(.attachments, 9)) {
      let failed = Desk.completed(lease) { $0.outcome = AttachmentOutcome(.failed, reason: reason) }
      try desk.settle(lease, failed)
      #expect(try desk.retry(Desk.id(lease)) == .done(hasChanged: true))
    }
    #expect(try senders() == before)
    // It is missing, and repaired.
    try desk.execute("DELETE FROM turns; DELETE FROM jobs WHERE kind = 'transfer'")
    #expect(try senders().isEmpty)
    try desk.ledger.mendJobs()
    #expect(try senders() == before)
  }

  @Test func aNewLinkIsTheSameUsers() throws {
    try take("ann", ["a.example.com/1"])
    let before = try senders()
    let page = try desk.ledger.attachments(AttachmentFilter(), after: nil, limit: 1)
    let id = try #require(page.rows.first).origin.id
    let command = RefreshCommand(id, url: "https://new.example.com/1", expiresAt: nil)
    #expect(try desk.command(.refresh(command)) == [.done(hasChanged: true)])
    #expect(try senders() == before && before != [0])
    #expect(try claim(1) == ["new.example.com/1"])
  }

  /// No statement of a claim looks through the queue, or sorts it.
  @Test func eachStatementOfAClaimIsAnsweredByAnIndex() throws {
    let indexed: [(String, index: String)] = [
      (SQL.urgentTransfers.text, "jobs_due"), (SQL.nextSender.text, "turns_in_order"),
      (SQL.nextPriority.text, "turns_in_order"), (SQL.nextHost.text, "turns_in_order"),
      (SQL.nextOldest.text, "turns_in_order"), (SQL.nextNewest.text, "turns_in_order"),
      (SQL.hostsInHand.text, "jobs_held"),
    ]
    for (sql, index) in indexed {
      var plan = ""
      try desk.ledger.connection.prepare("EXPLAIN QUERY PLAN \(sql)")
        .rows(Array(repeating: .integer(0), count: Set(sql.matches(of: /\?\d/).map(\.output)).count)) {
          plan += $0.text(3) + "; "
        }
      #expect(plan.hasPrefix("SEARCH ") && plan.contains("INDEX \(index) ("), "\(sql): \(plan)")
      #expect(!plan.contains("TEMP") && !plan.contains("SCAN"), "\(sql): \(plan)")
    }
  }
}
