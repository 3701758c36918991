import Testing

@testable import Pipeline

/// How many connections a host may take from the others.
struct HostHealthTests {
  private var health = HostHealth()

  private func shares(_ hosts: Int64..., at now: Int64) -> [Int] {
    let shares = health.shares(6, of: 8, at: now)
    return hosts.map { shares.share(of: $0, isUrgent: false) }
  }

  @Test mutating func aHostHasOneConnectionUntilItAnswers() {
    #expect(shares(1, 2, at: 0) == [1, 1])
    let (isNew, isStillNew) = (health.hears(1, at: 5), health.hears(1, at: 6))
    #expect(isNew && !isStillNew)
    #expect(shares(1, 2, at: 6) == [6, 1])
  }

  @Test mutating func whileOthersAnswerOneThatDoesNotRestsAndIsTriedAgain() {
    _ = health.hears(1, at: 10_000)
    health.missed(2, since: 0, at: 10_000)
    #expect(shares(1, 2, at: 10_001) == [6, 0])
    _ = health.hears(1, at: 39_999)
    #expect(shares(1, 2, at: 39_999) == [6, 0])
    #expect(shares(1, 2, at: 40_000) == [6, 1])
    health.missed(2, since: 40_000, at: 50_000)
    _ = health.hears(1, at: 50_000)
    #expect(shares(2, at: 50_001) == [0])
    let isNew = health.hears(2, at: 50_002)
    #expect(isNew && shares(2, at: 50_002) == [6])
  }

  @Test mutating func whereNoOtherAnswersNothingIsHeldBack() {
    health.missed(2, since: 0, at: 10_000)
    #expect(shares(2, 3, at: 10_001) == [6, 1])
    _ = health.hears(1, at: 20_000)
    #expect(shares(1, 2, at: 20_000) == [6, 0])
    #expect(shares(1, 2, at: 30_001) == [6, 6], "none was heard for ten seconds")
  }

  @Test mutating func whereSomeAnswerTheOthersLeaveThemHalf() {
    #expect(health.shares(6, of: 8, at: 0).unknown == .max)
    _ = health.hears(1, at: 1)
    for now in [1, 60_000] as [Int64] {
      let shares = health.shares(6, of: 8, at: now)
      #expect(shares.unknown == 4 && shares.known == [1], "also where none was heard for a while")
    }
    #expect(health.shares(6, of: 1, at: 1).unknown == 1)
    health.missed(1, since: 2, at: 3)
    #expect(health.shares(6, of: 8, at: 4).unknown == .max)
  }

  @Test mutating func whatIsUrgentIsTriedAtOnce() {
    _ = health.hears(1, at: 1)
    health.missed(2, since: 0, at: 1)
    #expect(health.shares(6, of: 8, at: 2).share(of: 2, isUrgent: true) == 6)
  }

  @Test mutating func oneLostConnectionSaysNothingOfAHostThatAnswersOthers() {
    _ = health.hears(1, at: 100)
    health.missed(1, since: 99, at: 101)
    #expect(shares(1, at: 101) == [6])
    health.missed(1, since: 100, at: 102)
    #expect(shares(1, at: 102) == [6], "no other answers")
    _ = health.hears(2, at: 102)
    #expect(shares(1, at: 102) == [0])
  }

  @Test mutating func ofManyHostsNoneIsRememberedForEver() {
    for host in 0..<25_000 { _ = health.hears(Int64(host), at: 1) }
    #expect((health.shares(6, of: 8, at: 1).answering?.count ?? 0) <= 10_000)
    #expect(shares(24_999, at: 1) == [6])
  }

  @Test func withoutAShareAnyNumberIsFine() {
    #expect(HostShares().share(of: 1, isUrgent: false) == .max)
    #expect(HostShares(0, resting: [1]).share(of: 1, isUrgent: false) == .max)
  }
}
