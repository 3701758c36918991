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
    // A year has four digits, unless the clock is far off.
    if !(0...9999).contains(year) { return "\(year)-01-01T00:00:00.000Z" }
    return String(unsafeUninitializedCapacity: 24) { text in
      var place = 0
      func add(_ number: Int, _ width: Int, _ after: Unicode.Scalar) {
        var rest = number
        for digit in stride(from: place + width - 1, through: place, by: -1) {
          text[digit] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
          rest /= 10
        }
        text[place + width] = UInt8(ascii: after)
        place += width + 1
      }
      add(year, 4, "-")
      add(month, 2, "-")
      add(day, 2, "T")
      add(inDay / 3600, 2, ":")
      add(inDay / 60 % 60, 2, ":")
      add(inDay % 60, 2, ".")
      add(Int(rest), 3, "Z")
      return place
    }
  }

  /// The milliseconds since 1970 of a day or a time in UTC, as RFC 3339 writes them: `2026-01-31`, `2026-01-31T08:00:00Z`; `nil`: it
  /// is none.
  public static func milliseconds(ofTimestamp text: String) -> Int64? {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>, _ allowed: ClosedRange<Int32>) -> Int32? {
      guard range.upperBound <= bytes.count else { return nil }
      var number: Int32 = 0
      for byte in bytes[range] {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        number = number * 10 + Int32(byte - UInt8(ascii: "0"))
      }
      return allowed.contains(number) ? number : nil
    }
    func has(_ character: Unicode.Scalar, at index: Int) -> Bool {
      index < bytes.count && bytes[index] == UInt8(ascii: character)
    }
    guard let year = number(0..<4, 1970...9999), has("-", at: 4), let month = number(5..<7, 1...12),
      has("-", at: 7), let day = number(8..<10, 1...31)
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, month - 1, day)
    var milliseconds: Int64 = 0
    if bytes.count > 10 {
      guard has("T", at: 10), let hour = number(11..<13, 0...23), has(":", at: 13),
        let minute = number(14..<16, 0...59), has(":", at: 16), let second = number(17..<19, 0...59),
        bytes.last == UInt8(ascii: "Z")
      else { return nil }
      (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
      if bytes.count > 20 {
        // RFC 3339 takes any number of digits; those beyond the milliseconds are left out.
        let digits = bytes[20..<bytes.count - 1]
        guard has(".", at: 19), (1...9).contains(digits.count),
          let rest = number(20..<20 + min(digits.count, 3), 0...999),
          digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        milliseconds = Int64(rest) * [1, 100, 10, 1][min(digits.count, 3)]
      }
    }
    let seconds = timegm(&fields)
    // The 31st of a month with 30 days would become the first of the next.
    return fields.tm_mday == day ? Int64(seconds) * 1000 + milliseconds : nil
  }
}
