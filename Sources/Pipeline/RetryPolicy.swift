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
    guard attempt < attempts else { return nil }
    let doublings = Swift.min(Swift.max(attempt - 1, 0), 40)
    let (doubled, overflow) = backoff.multipliedReportingOverflow(by: 1 << Int64(doublings))
    let wait = overflow ? max : Swift.min(doubled, max)
    return wait - Int64(Double(wait) * 0.2 * jitter)
  }
}

/// When a delivery is tried again: the schedule Standard Webhooks 1.0.0 recommends.
public enum DeliverySchedule {
  /// Milliseconds to wait after the attempt of each number.
  public static let waits: [Int64] = [
    5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000,
  ]

  /// Milliseconds to wait after the attempt of this number (from 1); `nil`: that was the last, and the delivery
  /// becomes a dead letter.
  public static func delay(after attempt: Int, jitter: Double) -> Int64? {
    guard attempt >= 1, attempt <= waits.count else { return nil }
    return waits[attempt - 1] + Int64(Double(waits[attempt - 1]) * 0.1 * jitter)
  }
}
