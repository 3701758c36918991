/// Texts in texts, letter by letter. The standard library has that in its module of regular expressions, which takes three
/// libraries to load at each start.
public enum TextSearch {
  /// The first place of a text in another; `nil`: it is not there. An empty text is found at the start.
  public static func firstRange<Text: StringProtocol>(
    of text: some StringProtocol, in whole: Text
  ) -> Range<Text.Index>? {
    guard let head = text.first else { return whole.startIndex..<whole.startIndex }
    var rest = whole[...]
    while let start = rest.firstIndex(of: head) {
      rest = rest[start...]
      if rest.hasPrefix(text) { return start..<whole.index(start, offsetBy: text.count) }
      rest.removeFirst()
    }
    return nil
  }
}

// What imports the standard library's module, or Foundation, gets theirs: hence disfavored.
extension StringProtocol {
  /// The first place of a text in this one; `nil`: it is not there.
  @_disfavoredOverload
  public func firstRange(of text: some StringProtocol) -> Range<Index>? {
    TextSearch.firstRange(of: text, in: self)
  }

  /// Whether a text is somewhere in this one.
  @_disfavoredOverload
  public func contains(_ text: some StringProtocol) -> Bool {
    TextSearch.firstRange(of: text, in: self) != nil
  }
}
