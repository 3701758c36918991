import LedgerPort
import Testing

/// Claims, and what a lease says.
struct LeaseTests {
  @Test(arguments: Engine.allCases) func theHighestPriorityIsFirstThenTheOldest(engine: Engine) throws {
    let bench = try Bench(engine)
    for (name, priority) in [("a", 0), ("b", 2), ("c", -1), ("d", 2), ("e", 0)] as [(String, Int64)] {
      try bench.takeIn(Sample.item(name, priority: priority))
    }
    let leases = try bench.claim(2)
    #expect(leases.map(Sample.name) == ["b", "d"] && leases.map(\.priority) == [2, 2])
    #expect(try bench.claim(9).map(Sample.name) == ["a", "e", "c"])
  }

  @Test(arguments: Engine.allCases) func aLeaseSaysWhatWasTakenIn(engine: Engine) throws {
    let bench = try Bench(engine)
    var item = Sample.item("a", message: "m", priority: 3)
    (item.declaredType, item.folderDevice) = ("text/plain", 8)
    try bench.takeIn(item)
    let lease = try bench.claimOne()
    #expect(lease.attempt == 1 && lease.counted == 1 && lease.crashes == 0 && lease.losses == 0)
    #expect(lease.priority == 3 && lease.token.holder == bench.writer.holder)
    guard case .attachment(let attachment) = lease.work else { return #expect(Bool(false), "\(lease)") }
    #expect(attachment.participants == #"["ann","ben"]"#)
    #expect(
      attachment.source
        == .file(host: nil, path: Array("/in/a".utf8), size: 5, modified: 7, folderDevice: 8))
    let origin = attachment.origin
    #expect(origin == (try bench.attachment("a")).origin)
    #expect(origin.conversationId == "c" && origin.messageId == "m" && origin.senderId == "ann")
    #expect(origin.fileName == "a" && origin.declaredType == "text/plain")
  }

  @Test(arguments: Engine.allCases) func noJobIsLeasedTwiceAndNoTokenGivenTwice(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b"), Sample.item("c"))
    let first = try bench.claim(2)
    let second = try bench.claim(9)
    #expect(
      (first + second).map(Sample.name) == ["a", "b", "c"] && Set((first + second).map(\.job)).count == 3)
    #expect(Set((first + second).map(\.token)).count == 2, "one for each exchange")
    try bench.settle(first[0], .released)
    let third = try bench.claim(9)
    #expect(third.map(Sample.name) == ["a"] && third[0].job == first[0].job)
    #expect(third[0].token != first[0].token)
  }

  @Test(arguments: Engine.allCases) func whatEndsAnAttemptDecidesWhetherItCounts(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    var seen: [[Int]] = []
    for change in 0..<6 {
      let lease = try bench.claimOne()
      seen.append([lease.attempt, lease.counted, lease.crashes, lease.losses])
      switch change {
      case 0: try bench.settle(lease, .released)
      case 1: try bench.settle(lease, Sample.again(lease))
      case 2: try bench.settle(lease, Sample.putOff(lease))
      case 3: try bench.settle(lease, Sample.again(lease, crashed: true))
      case 4: try bench.succeed()
      default: try bench.writer.leave()
      }
    }
    try bench.succeed()
    let lease = try bench.claimOne()
    seen.append([lease.attempt, lease.counted, lease.crashes, lease.losses])
    #expect(
      seen == [
        [1, 1, 0, 0], [2, 1, 0, 0], [3, 2, 0, 0], [4, 2, 0, 0], [5, 3, 1, 0], [6, 3, 1, 1], [7, 3, 1, 1],
      ])
  }

  @Test(arguments: Engine.allCases) func whatWaitsIsDueWhenItsTimeHasPassed(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b"))
    let leases = try bench.claim(2)
    try bench.settle(leases[0], Sample.again(leases[0], after: 1000))
    try bench.settle(leases[1], Sample.putOff(leases[1], after: 3000))
    #expect(try bench.state(countsWaiting: 9).waiting == 2)
    #expect(try bench.state(countsWaiting: 1).waiting == 1)
    #expect(try bench.state().waiting == 0)
    bench.time.pass(999)
    var state = try bench.state()
    #expect(!state.hasDue && state.nextDue == 1)
    #expect(try bench.claim(9).isEmpty)
    bench.time.pass(1)
    state = try bench.state(countsWaiting: 9)
    #expect(state.hasDue && state.nextDue == 2000 && state.waiting == 0, "counted only if none is due")
    #expect(try bench.claim(9).map(Sample.name) == ["a"])
    bench.time.pass(5000)
    #expect(try bench.claim(9).map(Sample.name) == ["b"])
    #expect(try bench.state().nextDue == nil)
  }

  @Test(arguments: Engine.allCases) func theLongestWaitDoesNotOverflow(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    #expect(try bench.settle(lease, Sample.again(lease, after: .max)) == .counted)
    #expect(try bench.state().nextDue ?? 0 > 1 << 49)
    #expect(try bench.claim(1).isEmpty)
  }

  @Test(arguments: Engine.allCases) func aStaleLeaseSettlesNothing(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let stale = try bench.claimOne()
    try bench.settle(stale, .released)
    for _ in 0..<2 {
      for ending in [
        .released, Sample.ended(stale), Sample.again(stale), Sample.putOff(stale), .delivered(key: 1),
        .deliveryAgain(key: 1, after: 0, reason: Sample.reason), .deadLetter(key: 1, reason: Sample.reason),
      ] {
        #expect(try bench.settle(stale, ending) == .leaseLost, "\(ending)")
      }
      // The second time it is leased under another token.
      _ = try bench.claim(1)
    }
    #expect(try bench.reader.attempts(of: 1).isEmpty && !bench.reader.hasName("documents/a"))
    #expect(try bench.count(.queued) == 1)
  }

  @Test(arguments: Engine.allCases) func aLeaseOfALostCoordinatorSettlesNothing(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let stale = try bench.claimOne()
    try bench.succeed()
    try bench.takeIn(Sample.item("b"))
    // Given in an exchange with the same number.
    let lease = try bench.claimOne()
    #expect(Sample.name(lease) == "a" && lease.token.number == stale.token.number)
    #expect(try bench.settle(stale, Sample.ended(stale)) == .leaseLost)
    #expect(try bench.settle(lease, Sample.ended(lease)) == .counted)
  }

  @Test(arguments: Engine.allCases) func whatThreeCoordinatorsWereLostWithIsGivenAlone(engine: Engine) throws
  {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b", priority: 1))
    for loss in 0..<3 {
      let leases = try bench.claim(9)
      #expect(leases.map(\.losses) == [loss, loss] && !leases.contains(where: \.isSolitary))
      try bench.succeed()
    }
    try bench.takeIn(Sample.item("c", priority: 2), Sample.item("d"))
    let first = try bench.claim(9)
    #expect(first.map(Sample.name) == ["c", "b"] && first.map(\.isSolitary) == [false, true])
    #expect(try bench.claim(9).map(Sample.name) == ["a"])
    #expect(try bench.claim(9).map(Sample.name) == ["d"])
  }

  @Test(arguments: Engine.allCases) func deliveriesAreNeverGivenAlone(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event()] }
    for _ in 0..<4 {
      #expect(try bench.claim(9, Sample.events).count == 2)
      try bench.succeed()
    }
    let leases = try bench.claim(9, Sample.events)
    #expect(leases.map(\.losses) == [4, 4] && leases.map(\.attempt) == [5, 5])
  }

  @Test(arguments: Engine.allCases) func nobodyTakesBackTheirOwn(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    bench.time.pass(Bench.patience * 2)
    #expect(try bench.writer.takeBackLost() == 0)
    bench.writer.rest(isIdle: true)
    #expect(try bench.settle(lease, Sample.ended(lease)) == .counted)
  }
}
