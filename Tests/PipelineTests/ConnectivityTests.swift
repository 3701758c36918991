import Testing

@testable import Pipeline

/// What the ends of transfers say of the network.
struct ConnectivityTests {
  private func away(_ code: String, _ connectivity: inout Connectivity, _ hosts: String...) -> [Bool] {
    hosts.map { host in
      if case .away(let reason) = connectivity.take(code, host: host) {
        #expect(Connectivity.isAway(reason.code))
        return true
      }
      return false
    }
  }

  @Test func aUsersDeadHostsSayNothingOfTheNetworkForOthers() {
    var connectivity = Connectivity()
    func take(_ host: String, _ user: String?) -> Connectivity.Conclusion {
      connectivity.take("unreachable", host: host, user: user)
    }
    #expect(take("a", "eve") == .silence && take("b", "eve") == .silence)
    for host in ["c", "d", "e"] {
      guard case .awayForUser(let reason) = take(host, "eve") else { return #expect(Bool(false), "\(host)") }
      #expect(reason.code == "offline")
    }
    // What another user meets as well is no one's choice.
    guard case .away = take("f", "ben") else { return #expect(Bool(false), "two users") }
    connectivity.heard("f")
    #expect(take("a", "eve") == .silence && take("b", nil) == .silence)
    guard case .away = take("c", "eve") else { return #expect(Bool(false), "a service") }
  }

  @Test func threeInARowToTwoHostsSayThatTheNetworkIsAway() {
    var connectivity = Connectivity()
    #expect(away("unreachable", &connectivity, "a", "a", "a", "b") == [false, false, false, true])
  }

  @Test func oneHostThatDoesNotAnswerSaysNothing() {
    var connectivity = Connectivity()
    let many = Array(repeating: "a", count: 50)
    #expect(many.allSatisfy { connectivity.take("name-not-found", host: $0) == .silence })
  }

  @Test(arguments: [
    nil, "gone", "server-busy", "unauthorized", "connection-refused", "tls-failed", "short-body",
  ])
  func whoeverAnswersIsHeard(code: String?) {
    var connectivity = Connectivity()
    #expect(away("unreachable", &connectivity, "a", "b") == [false, false])
    #expect(connectivity.take(code, host: "c") == .heard)
    #expect(away("unreachable", &connectivity, "a", "b") == [false, false], "it begins to count anew")
  }

  @Test(arguments: ["disk-full", "stopped", "stalled"]) func aFaultAtHomeSaysNothing(code: String) {
    var connectivity = Connectivity()
    #expect(away("unreachable", &connectivity, "a", "b") == [false, false])
    #expect(connectivity.take(code, host: "c") == .nothing)
    #expect(away("unreachable", &connectivity, "a") == [true])
  }

  @Test func onceItIsAwayEachSilenceIsEnoughUntilAHostIsHeard() {
    var connectivity = Connectivity()
    #expect(away("unreachable", &connectivity, "a", "b", "a") == [false, false, true])
    #expect(away("unreachable", &connectivity, "a", "a") == [true, true])
    connectivity.heard("c")
    #expect(away("unreachable", &connectivity, "a", "b") == [false, false])
  }

  @Test func itIsTriedAgainSoonAndThenLessOften() {
    var connectivity = Connectivity()
    var waits: [Int64] = []
    for _ in 1...8 {
      _ = connectivity.take("offline", host: "a")
      waits.append(connectivity.wait)
    }
    #expect(waits == [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    connectivity.networkChanged()
    #expect(connectivity.wait == 1000)
  }

  /// Dead hosts of many say less than the same hosts again: those behind them in the queue are to be reached.
  @Test func hostsThatWereNotTriedBeforeAreTriedSoon() {
    var connectivity = Connectivity()
    for host in 1...400 { _ = connectivity.take("name-not-found", host: "dead\(host)") }
    #expect(connectivity.wait == 1000)
    for host in 1...3 { _ = connectivity.take("name-not-found", host: "dead\(host)") }
    #expect(connectivity.wait == 8000)
  }

  @Test func aHostWithoutARouteIsToBlameWhereOthersAreHeard() {
    var connectivity = Connectivity()
    for _ in 1...3 {
      #expect(connectivity.take("offline", host: "six") == .nothing, "the source pauses the lane")
      connectivity.heard("four")
    }
    #expect(connectivity.take("offline", host: "six") == .noWay)
    #expect(connectivity.take("offline", host: "other") == .nothing)
    connectivity.networkChanged()
    #expect(connectivity.take("offline", host: "six") == .nothing, "it may have a way now")
  }

  @Test func aHostThatWasHeardItselfIsNotToBlame() {
    var connectivity = Connectivity()
    for _ in 1...9 {
      #expect(connectivity.take("offline", host: "a") == .nothing)
      #expect(connectivity.take("offline", host: "b") == .nothing)
      connectivity.heard("a")
      connectivity.heard("b")
    }
  }

  @Test func aPageInThePlaceOfContentOnSeveralHostsIsALogin() {
    var connectivity = Connectivity()
    _ = connectivity.take("captive-portal", host: "a")
    _ = connectivity.take("captive-portal", host: "b")
    guard case .away(let reason) = connectivity.take("captive-portal", host: "b") else {
      Issue.record("it is not away")
      return
    }
    #expect(reason.code == "captive-portal")
  }
}
