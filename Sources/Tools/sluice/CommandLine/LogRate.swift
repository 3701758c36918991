import Platform

/// Bounds what stages log in a coordinator that runs for months: of each stage and level so many lines a minute.
struct LogRate {
  static let linesPerMinute = 100
  private static let minute: UInt64 = 60_000_000_000

  /// By stage and level: since when lines are counted, in nanoseconds, and how many came.
  private var counts: [String: (since: UInt64, lines: Int)] = [:]

  /// Counts a line.
  ///
  /// - Returns: whether it is shown, and how many of the minute before were not.
  mutating func admits(_ kind: String, at now: UInt64 = Clock.monotonic()) -> (isShown: Bool, left: Int) {
    guard let before = counts[kind], now - min(before.since, now) < Self.minute else {
      let left = max((counts[kind]?.lines ?? 0) - Self.linesPerMinute, 0)
      counts[kind] = (now, 1)
      return (true, left)
    }
    counts[kind] = (before.since, before.lines + 1)
    return (before.lines < Self.linesPerMinute, 0)
  }
}
