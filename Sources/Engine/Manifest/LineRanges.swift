/// Numbers of lines as ranges, in a bounded space.
public struct LineRanges: Sendable, Equatable {
  /// In order, with at least one line between two.
  public private(set) var ranges: [ClosedRange<Int>] = []
  /// How many lines are in none of the ranges, because there was no room.
  public private(set) var unlisted = 0

  /// The most ranges that are kept.
  public static let limit = 200

  public init() {}

  /// Adds a line, once. Lines mostly come in order, which is fast; others find their place.
  public mutating func add(_ line: Int) {
    var index = ranges.endIndex
    while index > 0, ranges[index - 1].lowerBound > line { index -= 1 }
    let touchesBefore = index > 0 && ranges[index - 1].upperBound + 1 >= line
    let touchesNext = index < ranges.endIndex && ranges[index].lowerBound == line + 1
    switch (touchesBefore, touchesNext) {
    case (true, true):
      ranges[index - 1] = ranges[index - 1].lowerBound...ranges[index].upperBound
      ranges.remove(at: index)
    case (true, false):
      let before = ranges[index - 1]
      ranges[index - 1] = before.lowerBound...max(before.upperBound, line)
    case (false, true): ranges[index] = line...ranges[index].upperBound
    case (false, false):
      if ranges.count < Self.limit { ranges.insert(line...line, at: index) } else { unlisted += 1 }
    }
  }

  /// For people: `17, 19-240 and 3 more`.
  public var text: String {
    let listed = ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
    return listed.joined(separator: ", ") + (unlisted > 0 ? " and \(unlisted) more" : "")
  }
}
