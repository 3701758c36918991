/// A figure that cannot be had, or would be a lie: what was measured did other work than it was given.
struct BenchError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

/// Why a row is left out: something it compares with is not there.
struct Skipped: Error {
  var reason: String
}
