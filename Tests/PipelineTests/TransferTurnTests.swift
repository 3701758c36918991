import Testing

@testable import Pipeline

/// Which transfer begins next.
struct TransferTurnTests {
  private typealias Entry = TransferTurn.Entry

  private func entry(
    _ serial: UInt64, _ user: String? = nil, host: Int64 = 1, priority: Int64 = 0
  ) -> Entry { Entry(priority: priority, user: user, host: host, serial: serial) }

  /// The serial of the next, where eight connections are allowed, and four to a host.
  private func next(_ waiting: [Entry], beside underway: [Entry]) -> UInt64? {
    TransferTurn(connections: 8, perHost: 4, urgent: 100, underway: underway).next(of: waiting).map {
      waiting[$0].serial
    }
  }

  @Test func theHigherPriorityGoesFirstThenTheHostWithFewerThenTheOlder() {
    let underway = [entry(1, host: 1)]
    #expect(next([entry(3), entry(4, priority: 5)], beside: underway) == 4)
    #expect(next([entry(3, host: 1), entry(4, host: 2)], beside: underway) == 4)
    #expect(next([entry(4, host: 2), entry(3, host: 2)], beside: underway) == 3)
  }

  @Test func neitherConnectionsNorHostsHaveMoreThanTheirShareButForWhatIsUrgent() {
    let host = (1...4).map { entry($0, host: 1) }
    #expect(next([entry(9, host: 1)], beside: host) == nil)
    #expect(next([entry(9, host: 2)], beside: host) == 9)
    #expect(next([entry(9, host: 1, priority: 100)], beside: host) == 9)
    let all = (1...8).map { entry($0, host: Int64($0)) }
    #expect(next([entry(9, host: 9)], beside: all) == nil)
    #expect(next([entry(9, host: 9, priority: 100)], beside: all) == 9)
  }

  @Test func usersHaveTheirTurnsHoweverManyLinksOneHasAndHowUrgentItCallsThem() {
    let underway = [entry(1, "ann", host: 1), entry(2, "ann", host: 2)]
    let many = (3...9).map { entry($0, "ann", host: Int64($0), priority: 99) }
    #expect(next(many + [entry(20, "ben", host: 1)], beside: underway) == 20)
    #expect(next(many, beside: underway) == 3)
    #expect(next([entry(3, "ann", host: 8), entry(4, "ann", host: 9, priority: 99)], beside: underway) == 4)
  }

  @Test func aUserWhoHasNoneUnderWayGetsAConnectionThoughAllAreTaken() {
    let all = (1...8).map { entry($0, "ann", host: Int64($0)) }
    #expect(next([entry(20, "ben", host: 20)], beside: all) == 20)
    #expect(next([entry(20, "ann", host: 20)], beside: all) == nil)
    #expect(next([entry(20, host: 20)], beside: all) == nil, "a service's waits")
    // Not without end.
    let more = all + (9...16).map { entry($0, "user \($0)", host: Int64($0)) }
    #expect(next([entry(20, "ben", host: 20)], beside: more) == nil)
    #expect(next([entry(20, "ben", host: 1)], beside: (1...4).map { entry($0, "ann", host: 1) }) == nil)
  }

  @Test func whatCrawlsLeavesOthersHalfAsManyConnectionsAgain() {
    func crawling(_ serials: ClosedRange<UInt64>, host: Int64) -> [Entry] {
      serials.map { Entry(priority: 0, user: nil, host: host, serial: $0, crawls: true) }
    }
    let all = crawling(1...4, host: 1) + crawling(5...8, host: 2)
    #expect(next([entry(20, host: 3)], beside: all) == 20)
    let more = all + (9...11).map { entry($0, host: 3) }
    #expect(next([entry(20, host: 4)], beside: more) == 20)
    #expect(next([entry(20, host: 4)], beside: more + [entry(12, host: 4)]) == nil)
    // Not for hosts of which something crawls.
    let some = crawling(1...3, host: 1) + crawling(5...7, host: 2)
    #expect(next([entry(20, host: 1)], beside: some) == 20)
    #expect(next([entry(20, host: 1)], beside: some + [entry(8, host: 3), entry(9, host: 3)]) == nil)
  }

  @Test func aServiceSaysWhatGoesBeforeUsers() {
    #expect(next([entry(3, "ann"), entry(4, priority: 5)], beside: []) == 4)
    #expect(next([entry(3, "ann", priority: 99), entry(4, priority: 5)], beside: []) == 4)
    #expect(next([entry(4), entry(9, "ann")], beside: [entry(1), entry(2)]) == 9)
  }
}
