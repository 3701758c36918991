/// Suggests a known word for an unknown one.
public enum Suggestion {
  /// Words longer than this get no suggestion, because the cost is quadratic.
  private static let longest = 64

  /// The closest of the known words; `nil`: none is close.
  ///
  /// Close means one edit for every three letters of the word, and at least one. An edit is a letter too
  /// many, too few or wrong, or two swapped. Case and the difference between `-` and `_` do not count.
  public static func nearest(to word: String, among words: some Sequence<String>) -> String? {
    let wanted = folded(word)
    guard !wanted.isEmpty, wanted.count <= longest else { return nil }
    var best: (word: String, slips: Int)?
    for candidate in words {
      let letters = folded(candidate)
      let allowed = max(1, wanted.count / 3)
      guard abs(letters.count - wanted.count) <= allowed, letters.count > 1 || wanted.count > 1 else {
        continue
      }
      let slips = distance(wanted, letters)
      if slips <= allowed, slips < best?.slips ?? .max { best = (candidate, slips) }
    }
    return best?.word
  }

  /// The end of a message about an unknown word: `did you mean 'max-pages'?`, or else the known words, as in
  /// `the options are: max, min`.
  public static func remedy(for word: String, among words: some Sequence<String>, called noun: String)
    -> String
  {
    if let nearest = nearest(to: word, among: words) { return "did you mean '\(nearest)'?" }
    let all = Array(words)
    return all.isEmpty ? "there are no \(noun)" : "the \(noun) are: \(all.joined(separator: ", "))"
  }

  private static func folded(_ word: String) -> [UInt8] {
    word.lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
  }

  /// Optimal string alignment distance.
  private static func distance(_ from: [UInt8], _ to: [UInt8]) -> Int {
    var before: [Int] = []
    var above = Array(0...to.count)
    for (row, letter) in from.enumerated() {
      var current = [row + 1]
      for (column, other) in to.enumerated() {
        var least = min(above[column] + (letter == other ? 0 : 1), above[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, letter == to[column - 1], from[row - 1] == other {
          least = min(least, before[column - 1] + 1)
        }
        current.append(least)
      }
      before = above
      above = current
    }
    return above[to.count]
  }
}
