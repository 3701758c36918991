import Testing

@testable import Pipeline

/// What becomes of a transfer after an attempt.
struct TransferRunTests {
  private static let retry = {
    var retry = RetryPolicy()
    (retry.attempts, retry.backoff, retry.max) = (3, 1000, 60_000)
    return retry
  }()

  private func run(attempt: Int = 1, restarts: Int = 0) -> TransferRun {
    TransferRun(Self.retry, attempt: attempt, restarts: restarts, jitter: 0)
  }

  private func said(
    _ verdict: Verdict, _ code: String, retryAfter: Int64? = nil, pausesLane: Bool = false
  ) -> StageResult {
    StageResult(
      index: 0, verdict: verdict, code: code, message: "a sentence", microseconds: 0, retryAfter: retryAfter,
      pausesLane: pausesLane)
  }

  private func reason(_ code: String) -> Reason {
    Reason(stage: "downloads", code: code, message: "a sentence")
  }

  @Test func aFinalAnswerEndsIt() {
    #expect(
      run().next(said(.fail, "gone"), hasProgressed: true) == .failed(reason("gone"), isRejected: false))
    #expect(
      run().next(said(.reject, "too-large-to-fetch"), hasProgressed: false)
        == .failed(reason("too-large-to-fetch"), isRejected: true))
  }

  @Test(arguments: ["unauthorized", "forbidden", "gone", "expired"])
  func aLinkWhoseTimeIsOverHasACodeOfItsOwn(_ code: String) {
    let expired = run().next(said(.fail, code), hasProgressed: true, mayHaveExpired: true)
    guard case .failed(let reason, isRejected: false) = expired else {
      Issue.record("\(expired)")
      return
    }
    #expect(reason.code == "link-expired")
    #expect(reason.message.hasPrefix("a sentence; ") && reason.message.contains("sluice refresh"))
  }

  @Test func anotherAnswerSaysNothingOfItsTime() {
    #expect(
      run().next(said(.fail, "refused"), hasProgressed: true, mayHaveExpired: true)
        == .failed(self.reason("refused"), isRejected: false))
    #expect(
      run().next(said(.retry, "gone"), hasProgressed: false, mayHaveExpired: true)
        == .again(after: 1000, isCounted: true, self.reason("gone")))
  }

  @Test(arguments: [(1, 1000), (2, 2000)] as [(Int, Int64)])
  func aPassingFaultIsTriedAgainLaterAndLater(_ attempt: Int, _ wait: Int64) {
    #expect(
      run(attempt: attempt).next(said(.retry, "server-busy"), hasProgressed: false)
        == .again(after: wait, isCounted: true, reason("server-busy")))
  }

  @Test func theLastAttemptEndsIt() {
    #expect(
      run(attempt: 3).next(said(.retry, "server-busy"), hasProgressed: false)
        == .failed(reason("server-busy"), isRejected: false))
  }

  @Test func whatComesFurtherIsNoAttempt() {
    for attempt in [1, 3, 90] {
      #expect(
        run(attempt: attempt).next(said(.retry, "short-body"), hasProgressed: true)
          == .again(after: 1000, isCounted: false, reason("short-body")))
    }
  }

  @Test func aServerSaysWhenToComeAgain() {
    #expect(
      run().next(said(.retry, "server-busy", retryAfter: 90_000), hasProgressed: false)
        == .again(after: 90_000, isCounted: true, reason("server-busy")))
  }

  @Test(arguments: [("disk-full", true), ("unauthorized", true), ("offline", false)])
  func aFaultOfThePlaceStopsTheLane(_ code: String, _ needsHand: Bool) {
    #expect(
      run(attempt: 3).next(said(.retry, code, pausesLane: true), hasProgressed: false)
        == .pause(reason(code), needsHand: needsHand))
  }

  @Test func anInnocentOneDoesNotPayForItsWorker() {
    let death = reason("crashed")
    #expect(
      run(attempt: 3).nextAfterDeath(death, isCulprit: false, hasProgressed: false)
        == .again(after: 0, isCounted: false, death))
    #expect(
      run(attempt: 3).nextAfterDeath(death, isCulprit: true, hasProgressed: false)
        == .failed(death, isRejected: false))
    #expect(
      run(attempt: 3).nextAfterDeath(death, isCulprit: true, hasProgressed: true)
        == .again(after: 1000, isCounted: false, death))
  }

  private static let hash = String(repeating: "07", count: 32)

  @Test func whatWasAnnouncedIsCompared() {
    func next(_ size: Int64?, _ hash: String?, restarts: Int = 0) -> TransferRun.Next {
      run(restarts: restarts).next(size: 10, sha256: Self.hash, expectedSize: size, expectedSHA256: hash)
    }
    #expect(next(nil, nil) == .fetched)
    #expect(next(10, Self.hash) == .fetched)
    let other = String(repeating: "08", count: 32)
    for (size, hash, code) in [(11, nil, "size-mismatch"), (10, other, "hash-mismatch")]
      as [(Int64, String?, String)]
    {
      guard case .restart(let first) = next(size, hash) else {
        Issue.record("it is not fetched again: \(next(size, hash))")
        continue
      }
      #expect(first.code == code)
      #expect(next(size, hash, restarts: 1) == .failed(first, isRejected: false), "once is enough")
    }
  }
}
