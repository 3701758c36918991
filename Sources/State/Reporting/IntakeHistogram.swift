import LedgerPort

/// How many attachments were taken in when, in at most so many intervals: they grow as the time does that is covered.
package struct IntakeHistogram {
  /// Lengths of intervals, in milliseconds; each divides the next.
  private static let widths: [Int64] = [
    1000, 10_000, 60_000, 600_000, 3_600_000, 6 * 3_600_000, 86_400_000, 7 * 86_400_000, 28 * 86_400_000,
    364 * 86_400_000, 3640 * 86_400_000,
  ]
  private static let most: Int64 = 96

  private var step = 0
  private var counts: [Int64: Int64] = [:]
  package private(set) var first: Int64?
  package private(set) var last: Int64?

  /// The length of an interval, in milliseconds.
  package var width: Int64 { Self.widths[step] }

  /// - Parameter time: in milliseconds since 1970.
  mutating func add(_ time: Int64) {
    first = min(first ?? time, time)
    last = max(last ?? time, time)
    counts[Self.floor(time, width), default: 0] += 1
    widen(to: Self.most)
  }

  /// The same in at most so many intervals, where the longest are long enough for that.
  package func widened(to most: Int64) -> IntakeHistogram {
    var copy = self
    copy.widen(to: most)
    return copy
  }

  private mutating func widen(to most: Int64) {
    while step + 1 < Self.widths.count, span > most { widen() }
  }

  /// The intervals from the first to the last, the empty ones among them, with their beginnings.
  package var intervals: [(start: Int64, count: Int64)] {
    guard let first, let last, span <= Self.most else {
      return counts.sorted { $0.key < $1.key }.map { ($0.key &* width, $0.value) }
    }
    return (Self.floor(first, width)...Self.floor(last, width)).map { ($0 * width, counts[$0] ?? 0) }
  }

  private var span: Int64 {
    guard let first, let last else { return 0 }
    return Self.floor(last, width) &- Self.floor(first, width) &+ 1
  }

  private mutating func widen() {
    let factor = Self.widths[step + 1] / width
    var wide: [Int64: Int64] = [:]
    for (key, count) in counts { wide[Self.floor(key, factor), default: 0] += count }
    counts = wide
    step += 1
  }

  private static func floor(_ number: Int64, _ divisor: Int64) -> Int64 {
    number >= 0 ? number / divisor : -((-(number + 1)) / divisor) - 1
  }
}
