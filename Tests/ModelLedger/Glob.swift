/// A pattern as `GLOB` of SQLite matches it: `*` is any text, `?` any character, `[a-c]` and `[^a-c]` one of some.
package struct Glob {
  private let pattern: [Unicode.Scalar]

  package init(_ pattern: String) { self.pattern = Array(pattern.unicodeScalars) }

  package func matches(_ text: String) -> Bool {
    Self.matches(pattern[...], Array(text.unicodeScalars)[...])
  }

  private static func matches(_ pattern: ArraySlice<Unicode.Scalar>, _ text: ArraySlice<Unicode.Scalar>)
    -> Bool
  {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "*":
      return (text.startIndex...text.endIndex).contains { matches(rest, text[$0...]) }
    case "?": return !text.isEmpty && matches(rest, text.dropFirst())
    case "[":
      guard let next = text.first, let (isIn, after) = contains(rest, next) else { return false }
      return isIn && matches(after, text.dropFirst())
    default: return text.first == first && matches(rest, text.dropFirst())
    }
  }

  /// Whether a set has a character, and what follows the set; `nil`: the set has no end.
  private static func contains(
    _ set: ArraySlice<Unicode.Scalar>, _ scalar: Unicode.Scalar
  ) -> (Bool, ArraySlice<Unicode.Scalar>)? {
    var rest = set
    let isInverted = rest.first == "^"
    if isInverted { rest = rest.dropFirst() }
    var (isIn, isFirst) = (false, true)
    while let next = rest.popFirst() {
      // A bracket that comes first is one of the characters.
      if next == "]" && !isFirst { return (isIn != isInverted, rest) }
      isFirst = false
      if rest.first == "-", let end = rest.dropFirst().first, end != "]" {
        isIn = isIn || (next <= scalar && scalar <= end)
        rest = rest.dropFirst(2)
      } else {
        isIn = isIn || next == scalar
      }
    }
    return nil
  }
}
