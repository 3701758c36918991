import CMagicFilter
import Glibc
import Testing

/// What is said of a pattern without trying it is never wrong: glibc finds no match where a word is missing.
struct PatternTests {
  @Test(arguments: [
    ("^(const|var|let).*=.*require\\(", ["require("]),
    ("^[[:space:]]*(class|module)[ ][A-Z]", ["class", "module"]),
    ("^[ \t]{0,50}\\.even", [".even"]), ("a|b", ["a", "b"]), ("ab+c", ["ab"]), ("ab*c", ["a"]),
    ("x(abc)?y", ["x"]),
    ("(ab|cde)+f", ["ab", "cde"]), ("(ab){2}", ["ab"]), ("a{0}bc", ["bc"]), ("[]a]b", ["b"]),
    ("\\$\\{x", ["${x"]),
    ("a\\wbc", ["bc"]), ("^[!-?A-~]{1,255}(\t[^\t]+){11}", ["\t"]),
    ("module(\\.|\\[[\"'])exports.*=", ["exports"]),
  ])
  func theWordsOfAPatternAreThoseThatEachMatchHas(pattern: String, words: [String]) {
    #expect(Self.words(pattern) == words)
  }

  @Test(arguments: [
    ("^abc", true), ("^[[:space:]]*abc", true), ("^[ \t]{0,50}(abc|def)", true), ("x(^abc|^def)", true),
    ("^(abc)?def", false), ("(^abc|def)", false), ("^[[:space:]a]*bcd", false), ("^[^[:space:]]*abc", false),
    ("^.*abc", false), ("^x?abc", false), ("^*abc", false), ("abc^def", true),
  ])
  func theWordsOfAPatternMayBeginLines(pattern: String, beginLines: Bool) {
    #expect(sluice_pattern_words(pattern).begin_lines == beginLines)
  }

  /// Where a pattern is odd, or may match without any word, nothing is said.
  @Test(arguments: [
    "", "a*", "[a-z]+", "a|", "(a|b)?", "(", ")", "a)", "[a", "*a", "a{2", "a{x}", "\\<", "\\1", "a\\",
    "(a|[0-9])", "{a",
    String(repeating: "(", count: 100), "a|b|c|d|e|f|g|h|i",
  ])
  func nothingIsSaidOfOthers(pattern: String) {
    #expect(Self.words(pattern).isEmpty, "\(Self.words(pattern))")
  }

  @Test(arguments: 1...4) func noMatchIsDenied(seed: UInt64) {
    var random = Random(state: seed)
    var (compiled, denied, matched, anchored) = (0, 0, 0, 0)
    for _ in 0..<4000 {
      let pattern = random.pattern(3)
      var regex = regex_t()
      guard regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE) == 0 else { continue }
      defer { regfree(&regex) }
      compiled += 1
      let words = Self.words(pattern)
      let beginLines = sluice_pattern_words(pattern).begin_lines
      for _ in 0..<8 {
        let text = random.text()
        let isMatch = regexec(&regex, text, 0, nil, 0) == 0
        let isAllowed = words.isEmpty || words.contains { Self.stands($0, in: text, beginLines) }
        if beginLines { anchored += 1 }
        if isMatch { matched += 1 }
        if !isAllowed { denied += 1 }
        #expect(isAllowed || !isMatch, "\(pattern.debugDescription) in \(text.debugDescription)")
      }
    }
    #expect(
      compiled > 1000 && denied > 1000 && matched > 1000 && anchored > 100,
      "\(compiled), \(denied), \(matched), \(anchored)")
  }

  private static func stands(_ word: String, in text: String, _ beginsLine: Bool) -> Bool {
    let (text, word) = (Array(text.utf8), Array(word.utf8))
    return text.indices.contains { start in
      guard text[start...].starts(with: word) else { return false }
      let before = text[..<start].reversed().prefix { " \t\n".utf8.contains($0) }
      return !beginsLine || before.contains(UInt8(ascii: "\n")) || before.count == start
    }
  }

  private static func words(_ pattern: String) -> [String] {
    let words = sluice_pattern_words(pattern)
    return withUnsafeBytes(of: words.all) { bytes in
      (0..<Int(words.count)).map { index in
        let word = bytes.dropFirst(index * 32)
        return String(decoding: word.dropFirst().prefix(Int(word.first ?? 0)), as: UTF8.self)
      }
    }
  }

  /// Patterns and texts of few letters, so that they often match.
  private struct Random {
    var state: UInt64

    mutating func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }

    mutating func letter() -> String { ["a", "b", "ab", ".", "("][next(5)] }

    mutating func pattern(_ depth: Int) -> String {
      (0...next(4)).map { _ in piece(depth) }.joined()
    }

    private mutating func piece(_ depth: Int) -> String {
      let piece =
        switch next(depth > 0 ? 9 : 6) {
        case 0: "."
        case 1: ["[ab]", "[^a]", "[[:alpha:]]", "[]a]", "[.(]", "[[:space:]]", "[ \t]"][next(7)]
        case 2: ["^", "^", "^[[:space:]]*", "$", "\\w", "\\<", "\\b"][next(7)]
        case 3: ["\\.", "\\(", "\\{"][next(3)]
        case 4...5: letter().replacing("(", with: "\\(").replacing(".", with: "\\.")
        case 6: "(\(pattern(depth - 1)))"
        default: "(\(pattern(depth - 1))|\(pattern(depth - 1)))"
        }
      return piece + ["", "", "", "*", "+", "?", "{2}", "{0,1}", "{1,}", "{0}"][next(10)]
    }

    mutating func text() -> String {
      (0..<next(12)).map { _ in ["a", "b", ".", "(", "\n", "{", " "][next(7)] }.joined()
    }
  }
}
