/// A limit of bytes a second over all transfers: what was not used in a tenth of a second is lost, what was taken too much is
/// waited for.
struct Rate {
  private let bytesPerSecond: Double
  private let most: Double
  private var room: Double
  /// Nanoseconds.
  private var last: UInt64

  /// `nil`: there is no limit.
  init?(_ bytesPerSecond: Int64, now: UInt64) {
    guard bytesPerSecond > 0 else { return nil }
    self.bytesPerSecond = Double(bytesPerSecond)
    most = self.bytesPerSecond / 10
    room = most
    last = now
  }

  /// Whether nothing may be taken now.
  var isEmpty: Bool { room <= 0 }

  mutating func refill(now: UInt64) {
    room = min(room + Double(now - min(last, now)) / 1e9 * bytesPerSecond, most)
    last = now
  }

  mutating func take(_ count: Int) { room -= Double(count) }

  /// Milliseconds until something may be taken, rounded up.
  var wait: Int64 { room > 0 ? 0 : Int64((-room / bytesPerSecond * 1000).rounded(.down)) + 1 }
}
