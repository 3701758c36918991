import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// The path of an object is one content's.
struct NameTests {
  private let desk: Desk
  private static let other = [UInt8](repeating: 8, count: 32)

  init() throws { desk = try Desk() }

  private func leases(_ count: Int) throws -> [Lease] {
    try desk.takeIn((0..<count).map { Desk.item("\($0)") })
    let leases = try desk.claim(count)
    try #require(leases.count == count)
    return leases
  }

  /// Completed, with its object at the one path.
  private func completed(_ lease: Lease, _ sha256: [UInt8]? = nil) -> Settlement.Ending {
    Desk.completed(lease) {
      $0.outcome.url = "documents/one"
      if let sha256 { $0.outcome.sha256 = sha256 }
    }
  }

  private func uses() throws -> Int64? {
    try desk.ledger.connection.prepare("SELECT uses FROM names WHERE path = 'documents/one'").first {
      $0.integer(0)
    }
  }

  @Test func equalContentsShareAPath() throws {
    let leases = try leases(2)
    for (index, lease) in leases.enumerated() {
      #expect(try desk.settle(lease, completed(lease)) == .counted)
      #expect(try uses() == Int64(index + 1))
    }
    #expect(try desk.findings() == [])
  }

  @Test func anotherContentIsAConflictAndItsJobIsDueAgainAsIfItHadNotBeenBegun() throws {
    let leases = try leases(2)
    try desk.settle(leases[0], completed(leases[0]))
    let before = try desk.ledger.position()
    #expect(try desk.settle(leases[1], completed(leases[1], Self.other)) == .pathTaken)
    #expect(try desk.ledger.position() == before && uses() == 1)
    #expect(try desk.count(.queued) == 1 && desk.count(.completed) == 1)
    #expect(try desk.ledger.attempts(of: Desk.key(leases[1])).isEmpty, "nothing of it is on record")
    try desk.checkCounts()
    let again = try desk.claimOne()
    #expect(again.job == leases[1].job && again.attempt == 2 && again.counted == 1)
    #expect(try desk.settle(again, Desk.completed(again) { $0.outcome.sha256 = Self.other }) == .counted)
    #expect(try desk.findings() == [])
  }

  @Test func ofTwoContentsInOneExchangeTheFirstHasThePath() throws {
    let leases = try leases(3)
    var exchange = Exchange()
    exchange.settlements = [
      Settlement(leases[0], completed(leases[0])), Settlement(leases[1], completed(leases[1], Self.other)),
      Settlement(leases[2], completed(leases[2])),
    ]
    exchange.wanted = [Want(.attachments, 9)]
    let reply = try desk.send(exchange)
    #expect(reply.settled == [.counted, .pathTaken, .counted])
    #expect(reply.leases.map(\.job) == [leases[1].job], "it is due at once")
    #expect(try uses() == 2)
  }

  @Test func aLostLeaseLeavesNoNameBehind() throws {
    let lease = try leases(1)[0]
    try desk.settle(lease, .released)
    #expect(try desk.settle(lease, completed(lease)) == .leaseLost)
    #expect(try uses() == nil)
  }

  @Test func aLostLeaseLeavesAPathToThoseThatHaveIt() throws {
    let leases = try leases(2)
    try desk.settle(leases[0], completed(leases[0]))
    try desk.settle(leases[1], .released)
    #expect(try desk.settle(leases[1], completed(leases[1])) == .leaseLost)
    #expect(try uses() == 1)
    #expect(try desk.settle(leases[1], completed(leases[1], Self.other)) == .leaseLost, "and no conflict")
    #expect(try uses() == 1)
  }

  @Test func onceNoAttachmentHasAPathAnotherContentMayHaveIt() throws {
    let leases = try leases(3)
    for lease in leases.prefix(2) {
      try desk.settle(lease, Desk.ended(lease, .rejected) { $0.outcome.url = "documents/one" })
    }
    #expect(try uses() == 2)
    try desk.retry(Desk.id(leases[0]))
    #expect(try uses() == 1)
    #expect(try desk.settle(leases[2], completed(leases[2], Self.other)) == .pathTaken)
    try desk.retry(Desk.id(leases[1]))
    #expect(try uses() == nil && !desk.ledger.hasName("documents/one"))
    let last = try #require(try desk.claim(9).first { $0.job == leases[2].job })
    #expect(try desk.settle(last, completed(last, Self.other)) == .counted)
    #expect(try desk.ledger.hasObject(at: "documents/one", sha256: Self.other))
    #expect(try desk.findings() == [])
  }

  @Test func theNamesAreCountedAnew() throws {
    let leases = try leases(3)
    for lease in leases.prefix(2) { try desk.settle(lease, completed(lease)) }
    try desk.settle(leases[2], Desk.completed(leases[2]))
    let before = try desk.everything()
    try desk.execute(
      """
      UPDATE names SET uses = 7;
      DELETE FROM names WHERE path <> 'documents/one';
      INSERT INTO names VALUES ('documents/none', zeroblob(32), 1)
      """)
    #expect(try desk.findings().count == 3)
    try desk.ledger.recount()
    #expect(try desk.everything() == before)
    #expect(try desk.findings() == [])
  }
}
