/// How often and when something is tried again.
public struct RetryPolicy: Sendable, Equatable {
  /// Tries in all, the first included.
  public var attempts = 3
  /// Before the second try, in milliseconds; it doubles from try to try.
  public var backoff: Int64 = 1000
  /// The longest wait, in milliseconds.
  public var max: Int64 = 60_000

  public init() {}

  /// Milliseconds to wait after the attempt of this number (from 1); `nil`: that was the last.
  ///
  /// - Parameter jitter: from 0 to 1; spreads what failed together over the last fifth of the wait.
  public func delay(after attempt: Int, jitter: Double) -> Int64? {
    attempt < attempts ? wait(before: attempt + 1, jitter: jitter) : nil
  }

  /// Milliseconds to wait before the attempt of this number (from 2), however many there may be.
  public func wait(before attempt: Int, jitter: Double) -> Int64 {
    let doublings = Swift.min(Swift.max(attempt, 2) - 2, 40)
    let (doubled, overflow) = backoff.multipliedReportingOverflow(by: 1 << Int64(doublings))
    let wait = overflow ? max : Swift.min(doubled, max)
    return wait - Int64(Double(wait) * 0.2 * jitter)
  }
}
