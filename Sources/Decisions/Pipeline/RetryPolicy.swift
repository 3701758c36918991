/// How often and when a failed attempt is repeated.
public struct RetryPolicy: Sendable, Equatable {
  /// Attempts in all, the first included.
  public var attempts = 3
  /// The wait before the second attempt, in milliseconds; it doubles with each attempt.
  public var backoff: Int64 = 1000
  /// The longest wait, in milliseconds.
  public var max: Int64 = 60_000

  public init() {}

  /// Milliseconds to wait after the attempt of this number (from 1); `nil`: it was the last.
  ///
  /// - Parameter jitter: from 0 to 1; spreads the retries over the last fifth of the wait.
  public func delay(after attempt: Int, jitter: Double) -> Int64? {
    attempt < attempts ? wait(before: attempt + 1, jitter: jitter) : nil
  }

  /// Milliseconds to wait before the attempt of this number (from 2). There is no limit on attempts here.
  public func wait(before attempt: Int, jitter: Double) -> Int64 {
    let doublings = Swift.min(Swift.max(attempt, 2) - 2, 40)
    let (doubled, overflow) = backoff.multipliedReportingOverflow(by: 1 << Int64(doublings))
    let wait = overflow ? max : Swift.min(doubled, max)
    return wait - Int64(Double(wait) * 0.2 * jitter)
  }
}
