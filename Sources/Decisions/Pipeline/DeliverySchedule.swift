/// When a delivery is tried again.
///
/// The default is the schedule that Standard Webhooks 1.0.0 recommends: after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h,
/// 14 h, 20 h and 24 h, ten attempts in all. `attempts` alone ends that schedule sooner, or extends it with
/// its last wait. With `backoff` the wait doubles from attempt to attempt up to `max`, by default 24 h.
public struct DeliverySchedule: Sendable, Equatable {
  /// Attempts in all, the first included.
  public var attempts = 10
  /// The wait before the second attempt, in milliseconds; `nil`: the recommended schedule.
  public var backoff: Int64?
  /// The longest wait, in milliseconds.
  public var max: Int64 = 86_400_000

  /// The recommended wait after each attempt, from the first, in milliseconds.
  public static let recommended: [Int64] = [
    5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000,
  ]

  public init(attempts: Int = 10, backoff: Int64? = nil, max: Int64 = 86_400_000) {
    self.attempts = attempts
    self.backoff = backoff
    self.max = max
  }

  /// Milliseconds to wait after the attempt of this number (from 1); `nil`: it was the last, and the delivery
  /// becomes a dead letter.
  ///
  /// - Parameter jitter: from 0 to 1; adds up to a tenth of the wait, to spread retries.
  public func delay(after attempt: Int, jitter: Double) -> Int64? {
    guard attempt >= 1, attempt < attempts else { return nil }
    let wait = Swift.min(wait(after: attempt), max)
    return wait + Int64(Double(wait) * 0.1 * jitter)
  }

  private func wait(after attempt: Int) -> Int64 {
    guard let backoff else { return Self.recommended[Swift.min(attempt, Self.recommended.count) - 1] }
    let (doubled, overflow) = backoff.multipliedReportingOverflow(by: 1 << Int64(Swift.min(attempt - 1, 40)))
    return overflow ? max : doubled
  }
}
