/// A figure that cannot be measured or would be wrong, because the program did other work than it was given.
struct BenchError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A row is left out, because a program it compares with is missing.
struct Skipped: Error {
  var reason: String
}
