import Platform
import Testing

/// Texts in texts.
struct TextSearchTests {
  /// What stands before the first place of a text, and after it; `nil`: there is none.
  private func parts(_ whole: String, _ text: String) -> [String]? {
    TextSearch.firstRange(of: text, in: whole).map {
      [String(whole[..<$0.lowerBound]), String(whole[$0.upperBound...])]
    }
  }

  @Test func theFirstPlaceIsFound() {
    #expect(parts("aab > of aab > of c", "> of ") == ["aab ", "aab > of c"])
    #expect(parts("one", "one") == ["", ""] && parts("ab", "") == ["", "ab"])
    #expect(parts("aab", "aac") == nil && parts("ab", "abc") == nil && parts("", "a") == nil)
    // What is looked for begins within a beginning of it.
    #expect(parts("aaab", "aab") == ["a", ""])
  }

  @Test func aLetterWithAMarkIsAnotherLetter() {
    #expect(parts("cafe\u{301}", "fe") == nil)
    #expect(parts("cafe\u{301}", "f\u{E9}") == ["ca", ""])
  }
}
