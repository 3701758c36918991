import Glibc

/// A deadline on the monotonic clock.
struct Deadline {
  private let nanoseconds: UInt64

  /// - Parameter milliseconds: from now; the options it comes from are bounded, so that nothing overflows.
  init(after milliseconds: Int64) {
    nanoseconds = Self.now + UInt64(max(milliseconds, 0)) * 1_000_000
  }

  func earlier(of other: Deadline) -> Deadline { other.nanoseconds < nanoseconds ? other : self }

  var hasPassed: Bool { Self.now >= nanoseconds }

  /// The remaining milliseconds, for poll(2): rounded up, 0 once the deadline has passed.
  var remaining: Int32 {
    let now = Self.now
    guard now < nanoseconds else { return 0 }
    return Int32(clamping: (nanoseconds - now + 999_999) / 1_000_000)
  }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
