import Pipeline
import Platform
import Testing

struct RetryPolicyTests {
  private static func policy(attempts: Int = 1000, backoff: Int64 = 1000, max: Int64 = 60_000) -> RetryPolicy
  {
    var policy = RetryPolicy()
    (policy.attempts, policy.backoff, policy.max) = (attempts, backoff, max)
    return policy
  }

  @Test func theWaitDoublesUpToTheLongest() {
    let waits = (1...8).map { Self.policy().delay(after: $0, jitter: 0) }
    #expect(waits == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  }

  @Test func afterTheLastAttemptThereIsNone() {
    let policy = Self.policy(attempts: 3)
    #expect(policy.delay(after: 2, jitter: 0) != nil)
    #expect(policy.delay(after: 3, jitter: 0) == nil)
    #expect(policy.delay(after: 4, jitter: 0) == nil)
    #expect(Self.policy(attempts: 1).delay(after: 1, jitter: 0) == nil)
  }

  @Test func jitterTakesAwayUpToAFifth() {
    let policy = Self.policy()
    #expect(policy.delay(after: 1, jitter: 1) == 800)
    #expect(policy.delay(after: 1, jitter: 0.5) == 900)
    var random = SplitMix(state: 3)
    for _ in 0..<1000 {
      let attempt = Int.random(in: 1...100, using: &random)
      let whole = policy.delay(after: attempt, jitter: 0) ?? -1
      let wait = policy.delay(after: attempt, jitter: .random(in: 0...1, using: &random)) ?? -1
      #expect(wait <= whole && wait * 5 >= whole * 4)
    }
  }

  @Test(arguments: [1, 41, 42, 63, 64, 65, 1000, Int.max - 1])
  func noNumberOfAttemptsOverflows(attempt: Int) {
    let policy = Self.policy(attempts: .max, backoff: .max, max: .max)
    #expect(policy.delay(after: attempt, jitter: 0) == .max)
    #expect(policy.delay(after: attempt, jitter: 1) ?? -1 > 0)
    #expect(Self.policy(attempts: .max).delay(after: attempt, jitter: 0) ?? -1 <= 60_000)
  }

  @Test func anAttemptThatIsNoneWaitsAsTheFirst() {
    #expect(Self.policy().delay(after: 0, jitter: 0) == 1000)
    #expect(Self.policy().delay(after: -5, jitter: 0) == 1000)
  }

  @Test func theWaitGoesOnGrowingPastTheLastAttempt() {
    let policy = Self.policy(attempts: 2)
    #expect((2...5).map { policy.wait(before: $0, jitter: 0) } == [1000, 2000, 4000, 8000])
    #expect(policy.wait(before: .max, jitter: 0) == 60_000)
  }
}
