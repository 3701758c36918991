/// Counts numbers in ranges that grow with them, so that quantiles of any number of values take 15 KB.
///
/// Numbers below 64 are counted exactly. Each doubling above has 32 ranges, and a quantile is the middle of its range: it is at
/// most one part in 64 (1.6 percent) away from the value that it stands for. Count, sum and largest value are exact.
public struct LogHistogram: Sendable, Equatable {
  public private(set) var count: Int64 = 0
  public private(set) var largest: Int64 = 0
  /// Stops at the largest integer.
  public private(set) var sum: Int64 = 0
  private var counts = [Int64](repeating: 0, count: 64 + 57 * 32)

  public init() {}

  /// Counts a number; one that is negative as 0.
  public mutating func add(_ number: Int64) {
    let number = max(number, 0)
    counts[Self.index(number)] += 1
    count += 1
    largest = max(largest, number)
    let (total, overflow) = sum.addingReportingOverflow(number)
    sum = overflow ? .max : total
  }

  /// The number below or at which this part of all numbers lies, by the nearest rank; 0: there are none.
  ///
  /// - Parameter part: from 0 to 1; 0.5 is the median.
  public func quantile(_ part: Double) -> Int64 {
    let rank = max(Int64((part * Double(count)).rounded(.up)), 1)
    if rank >= count { return largest }
    var seen: Int64 = 0
    for (index, number) in counts.enumerated() where number > 0 {
      seen += number
      if seen >= rank { return min(Self.middle(index), largest) }
    }
    return largest
  }

  private static func index(_ number: Int64) -> Int {
    if number < 64 { return Int(number) }
    let doubling = 63 - number.leadingZeroBitCount  // 6 for 64 to 127
    return 64 + (doubling - 6) * 32 + Int(number >> Int64(doubling - 5)) - 32
  }

  private static func middle(_ index: Int) -> Int64 {
    if index < 64 { return Int64(index) }
    let (doubling, part) = (index - 64).quotientAndRemainder(dividingBy: 32)
    let width = Int64(1) << Int64(doubling + 1)
    return Int64(part + 32) * width + width / 2
  }
}
