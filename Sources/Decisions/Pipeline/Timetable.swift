/// Times of the week, in local time: `22:00-06:00`, or `mon-fri 22:00-06:00, sat-sun 00:00-24:00`.
public struct Timetable: Sendable, Equatable {
  /// In minutes since Monday, 0:00. One that goes beyond the week's end begins it again.
  private var windows: [Range<Int>] = []

  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let minutesOfDay = 24 * 60
  public static let minutesOfWeek = 7 * minutesOfDay

  /// `nil`: the text is none. A window that ends before it begins goes on until the next day.
  public init?(_ text: String) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: " ")
      guard let hours = words.last, words.count <= 2, let (start, end) = Self.hours(hours),
        let days = words.count == 2 ? Self.days(words[0]) : Array(Self.days.indices)
      else { return nil }
      for day in days {
        let midnight = day * Self.minutesOfDay
        windows.append(midnight + start..<midnight + (end > start ? end : end + Self.minutesOfDay))
      }
    }
  }

  /// `mon`, or `mon-fri`, which may go beyond Sunday.
  private static func days(_ text: Substring) -> [Int]? {
    let ends = text.lowercased().split(separator: "-", omittingEmptySubsequences: false)
      .map { days.firstIndex(of: String($0)) }
    guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else {
      return nil
    }
    return (first...(last < first ? last + days.count : last)).map { $0 % days.count }
  }

  private static func hours(_ text: Substring) -> (start: Int, end: Int)? {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(minute)
    guard ends.count == 2, let start = ends[0], let end = ends[1], start != end, start < minutesOfDay else {
      return nil
    }
    return (start, end)
  }

  /// Minutes since midnight of `06:30`; up to `24:00`.
  private static func minute(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }), let hour = Int(parts[0]),
      let minute = Int(parts[1]), minute < 60, hour * 60 + minute <= minutesOfDay
    else { return nil }
    return hour * 60 + minute
  }

  /// Whether a minute of the week is in it.
  public func contains(_ minute: Int) -> Bool {
    windows.contains { $0.contains(minute) || $0.contains(minute + Self.minutesOfWeek) }
  }

  /// When it begins the next time after a minute of the week that is not in it: `mon 22:00`.
  public func next(after minute: Int) -> String {
    let starts = windows.map(\.lowerBound)
    let start = starts.filter { $0 > minute }.min() ?? starts.min() ?? 0
    let (hour, rest) = (start % Self.minutesOfDay / 60, start % 60)
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(Self.days[start / Self.minutesOfDay]) \(digits(hour)):\(digits(rest))"
  }
}
