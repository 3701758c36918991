import Platform
import Testing

/// Quantiles from counts in ranges.
struct LogHistogramTests {
  @Test func smallNumbersAreExact() {
    var histogram = LogHistogram()
    for number in [5, 1, 3, 2, 4] as [Int64] { histogram.add(number) }
    #expect(histogram.quantile(0.5) == 3 && histogram.quantile(0.2) == 1 && histogram.quantile(1) == 5)
    #expect(histogram.count == 5 && histogram.sum == 15 && histogram.largest == 5)
    #expect(LogHistogram().quantile(0.5) == 0)
  }

  /// Of any spread, against the exact quantile.
  @Test(arguments: [8, 20, 40, 62] as [Int64]) func aQuantileIsAtMostOnePartInSixtyFourOff(bits: Int64) throws
  {
    var random = SplitMix(state: UInt64(bits))
    var histogram = LogHistogram()
    var numbers = (0..<5000).map { _ in
      Int64(random.next() >> UInt64(64 - Int64.random(in: 1...bits, using: &random)))
    }
    for number in numbers { histogram.add(number) }
    numbers.sort()
    for part in [0.01, 0.25, 0.5, 0.9, 0.99, 1] {
      let exact = numbers[max(Int((part * 5000).rounded(.up)) - 1, 0)]
      let off = abs(Double(histogram.quantile(part)) - Double(exact))
      #expect(off <= Double(exact) / 64, "\(part): \(histogram.quantile(part)) for \(exact)")
    }
    #expect(histogram.quantile(1) == numbers.last)
  }

  @Test func noNumberIsTooLargeOrTooSmall() {
    var histogram = LogHistogram()
    for number in [-5, .max, .max, .min] as [Int64] { histogram.add(number) }
    #expect(histogram.sum == .max && histogram.largest == .max && histogram.quantile(0.25) == 0)
    #expect(histogram.quantile(0.6) > .max - .max / 64)
  }
}
