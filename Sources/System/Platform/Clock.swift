import Glibc

/// The machine's clocks. The static functions read this machine's clocks; tests pass a value of their own.
public struct Clock: Sendable {
  public var now: @Sendable () -> Int64
  public var steady: @Sendable () -> Int64
  public var monotonic: @Sendable () -> UInt64
  public var sinceBoot: @Sendable () -> Int64

  public init(
    now: @escaping @Sendable () -> Int64, steady: @escaping @Sendable () -> Int64,
    monotonic: @escaping @Sendable () -> UInt64, sinceBoot: @escaping @Sendable () -> Int64
  ) {
    (self.now, self.steady, self.monotonic, self.sinceBoot) = (now, steady, monotonic, sinceBoot)
  }

  /// This machine's clocks.
  public static let machine = Clock(
    now: { now() }, steady: { steady() }, monotonic: { monotonic() }, sinceBoot: { sinceBoot() })

  /// Milliseconds since 1970, by the wall clock.
  public static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds since 1970: the wall clock's time at the start of the process plus the time passed since,
  /// including the machine's sleep. Timers by this clock fire on time even if the wall clock is changed.
  public static func steady() -> Int64 {
    origin.wall + sinceBoot() - origin.sinceBoot
  }

  private static let origin = (wall: now(), sinceBoot: sinceBoot())

  /// Milliseconds since the kernel started, including the machine's sleep. Changes of the wall clock do not affect it.
  public static func sinceBoot() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Monotonic nanoseconds, for measuring. Changes of the wall clock do not affect it.
  public static func monotonic() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// RFC 3339 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`.
  public static func timestamp(_ milliseconds: Int64) -> String {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    let (days, inDay) = Int(seconds).quotientAndRemainder(dividingBy: 86400)
    // Days to a civil date. The year begins in March, so that the leap day is the last day.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    var text: [UInt8] = []
    text.reserveCapacity(24)
    func add(_ number: Int, _ width: Int, _ after: Unicode.Scalar) {
      let digits = String(number).utf8
      text += repeatElement(UInt8(ascii: "0"), count: max(width - digits.count, 0))
      text += digits
      text.append(UInt8(ascii: after))
    }
    add(year, 4, "-")
    add(month, 2, "-")
    add(day, 2, "T")
    add(inDay / 3600, 2, ":")
    add(inDay / 60 % 60, 2, ":")
    add(inDay % 60, 2, ".")
    add(Int(rest), 3, "Z")
    return String(decoding: text, as: UTF8.self)
  }
}
