import Pipeline
import Platform
import Testing

struct QuantityTests {
  @Test(
    arguments: [
      ("0B", 0), ("1B", 1), ("1KB", 1024), ("1KiB", 1024), ("1kb", 1024), ("10MB", 10 << 20),
      ("2 GiB", 2 << 30), ("1TB", 1 << 40), ("0007B", 7), ("9223372036854775807B", Int64.max),
      ("8388607TB", 8_388_607 << 40),
    ] as [(String, Int64)])
  func aSizeIsADigitStringAndAUnit(text: String, bytes: Int64) {
    #expect(ByteSize(text)?.bytes == bytes)
  }

  @Test(
    arguments: [
      "", "10", "MB", "-1B", "+1B", "1.5MB", "1,5MB", "10 M", "10MBx", "10MB ", " 10MB", "1e3B", "0x10B",
      "９MB", "½KB", "1\u{301}B", "10PB", "1B\0",
    ])
  func whatIsNoSizeIsRefused(text: String) {
    #expect(ByteSize(text) == nil)
  }

  @Test(
    arguments: [
      "9223372036854775808B", "9007199254740992KB", "8388608TB", "99999999999999999999999999TB",
    ])
  func aSizeBeyondSixtyFourBitsIsRefused(text: String) {
    #expect(ByteSize(text) == nil)
  }

  @Test(
    arguments: [
      ("0ms", 0), ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000),
      ("5 s", 5000), ("36500d", 36_500 * 86_400_000),
    ] as [(String, Int64)])
  func aDurationIsADigitStringAndAUnit(text: String, milliseconds: Int64) {
    #expect(Interval(text)?.milliseconds == milliseconds)
  }

  @Test(
    arguments: [
      "", "30", "s", "-1s", "1.5s", "5M", "5S", "1w", "1s ", "5min", "106751991168d",
      "99999999999999999999ms",
    ])
  func whatIsNoDurationIsRefused(text: String) {
    #expect(Interval(text) == nil)
  }

  @Test(
    arguments: [
      (0, "0B"), (1, "1B"), (1023, "1023B"), (1024, "1KB"), (1536, "1536B"), (10 << 20, "10MB"),
      (3 << 30, "3GB"), (2 << 40, "2TB"), (Int64.max, "9223372036854775807B"), (-1024, "-1024B"),
    ] as [(Int64, String)])
  func aSizeIsWrittenInTheLargestUnitThatDividesIt(bytes: Int64, text: String) {
    #expect(ByteSize.text(bytes) == text)
  }

  @Test(
    arguments: [
      (0, "0ms"), (1, "1ms"), (999, "999ms"), (1000, "1s"), (1500, "1500ms"), (60_000, "1m"),
      (90_000, "90s"), (7_200_000, "2h"), (86_400_000, "24h"),
    ] as [(Int64, String)])
  func aDurationIsWrittenInTheLargestUnitThatDividesIt(milliseconds: Int64, text: String) {
    #expect(Interval.text(milliseconds) == text)
  }

  @Test func whatIsWrittenIsReadAsTheSame() {
    var random = SplitMix(state: 7)
    for _ in 0..<2000 {
      let number = Int64.random(in: 0...Int64.max, using: &random) >> Int64.random(in: 0...62, using: &random)
      #expect(ByteSize(ByteSize.text(number))?.bytes == number)
      #expect(Interval(Interval.text(number))?.milliseconds == (number <= Interval.longest ? number : nil))
    }
  }

  @Test(arguments: ["36501d", "300000d", "106751991167d", "9223372036854775807ms"])
  func aDurationThatNoClockCanAddIsRefused(text: String) {
    #expect(Interval(text) == nil)
    #expect(Interval("36500d")?.milliseconds == Interval.longest)
  }

  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1536, "1.5 KB"), (1587, "1.5 KB"), (1588, "1.6 KB"),
      (32_925_286, "31.4 MB"), (1 << 30, "1.0 GB"), (1 << 40, "1.0 TB"), (5000 << 40, "5000.0 TB"),
      (1_048_575, "1.0 MB"), ((1 << 30) - 1, "1.0 GB"), (1_048_524, "1023.9 KB"),
    ] as [(Int64, String)])
  func aSizeIsRoundedForReading(bytes: Int64, text: String) {
    #expect(ByteSize.rounded(bytes) == text)
  }

  /// The dotless i is a lower-case I to Unicode.
  @Test(arguments: ["7K\u{131}B", "7 MB\u{301}", "\u{661}B", "5\u{17F}"])
  func aUnitIsASCII(text: String) {
    #expect(ByteSize(text) == nil && Interval(text) == nil)
  }
}
