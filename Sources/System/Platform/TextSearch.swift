// The standard library has these in its module of regular expressions, which takes three libraries to load at each start. Who
// imports that module or Foundation gets theirs: hence disfavored.
extension StringProtocol {
  /// The first place of a text in this one, letter by letter; `nil`: it is not there. An empty text is found at the start.
  @_disfavoredOverload
  public func firstRange(of text: some StringProtocol) -> Range<Index>? {
    guard let head = text.first else { return startIndex..<startIndex }
    var rest = self[...]
    while let start = rest.firstIndex(of: head) {
      rest = rest[start...]
      if rest.hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      rest.removeFirst()
    }
    return nil
  }

  /// Whether a text is somewhere in this one.
  @_disfavoredOverload
  public func contains(_ text: some StringProtocol) -> Bool { firstRange(of: text) != nil }
}
