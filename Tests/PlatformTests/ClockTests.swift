import Glibc
import Platform
import Testing

struct ClockTests {
  /// Seconds since 1970 by `date --utc --date=… +%s`.
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (999, "1970-01-01T00:00:00.999Z"),
      (86_399_999, "1970-01-01T23:59:59.999Z"), (68_169_600_000, "1972-02-29T00:00:00.000Z"),
      (68_256_000_000, "1972-03-01T00:00:00.000Z"), (946_684_799_000, "1999-12-31T23:59:59.000Z"),
      (946_684_800_000, "2000-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (951_868_800_000, "2000-03-01T00:00:00.000Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
      (1_735_646_400_000, "2024-12-31T12:00:00.000Z"), (1_740_787_200_000, "2025-03-01T00:00:00.000Z"),
      (2_147_483_648_000, "2038-01-19T03:14:08.000Z"), (4_107_542_399_007, "2100-02-28T23:59:59.007Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (13_574_563_200_000, "2400-02-29T00:00:00.000Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func aTimeIsWrittenAsItsDate(milliseconds: Int64, text: String) {
    #expect(Clock.timestamp(milliseconds) == text)
  }

  /// Every day of four centuries, counted up by the calendar's rule.
  @Test func noDayIsSkippedOrWrittenTwice() {
    var (year, month, day) = (1970, 1, 1)
    for days in 0..<146_097 {
      let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T00:00:00.000Z"
      guard Clock.timestamp(Int64(days) * 86_400_000) == expected else {
        Issue.record("\(expected) is \(Clock.timestamp(Int64(days) * 86_400_000))")
        return
      }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
      day += 1
      if day > length { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
  }

  @Test func theSteadyClockBeginsAtTheWallClock() {
    let before = Clock.steady()
    #expect(abs(before - Clock.now()) < 60_000)
    usleep(20_000)
    #expect((15...10_000).contains(Clock.steady() - before))
  }

  @Test func theWallClockIsInThisCentury() {
    #expect((1_700_000_000_000...4_102_444_800_000).contains(Clock.now()))
  }

  @Test func theMonotonicClockNeverGoesBack() {
    var last = Clock.monotonic()
    for _ in 0..<10_000 {
      let next = Clock.monotonic()
      #expect(next >= last)
      last = next
    }
  }
}
