/// The values of several rounds.
struct Series {
  private(set) var values: [Double]

  init(_ values: [Double] = []) {
    self.values = values.sorted()
  }

  var median: Double { quantile(0.5) }
  var least: Double { values.first ?? .nan }
  var most: Double { values.last ?? .nan }

  /// The quantile, interpolated between two values.
  func quantile(_ part: Double) -> Double {
    guard let last = values.last else { return .nan }
    let place = part * Double(values.count - 1)
    let index = Int(place)
    if index + 1 >= values.count { return last }
    return values[index] + (values[index + 1] - values[index]) * (place - Double(index))
  }
}

/// Values of two programs, measured in the same rounds.
struct Paired {
  var ours: Series
  var theirs: Series
  /// Ours by theirs, of each round: what slows down a round slows down both.
  var ratios: Series

  init(_ ours: [Double], _ theirs: [Double]) {
    self.ours = Series(ours)
    self.theirs = Series(theirs)
    ratios = Series(zip(ours, theirs).map { $0 / $1 })
  }
}
