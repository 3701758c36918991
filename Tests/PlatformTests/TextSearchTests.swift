import Platform
import Testing

/// Texts in texts.
struct TextSearchTests {
  @Test func theFirstPlaceIsFound() throws {
    let text = "aab > of aab > of c"
    let place = try #require(text.firstRange(of: "> of "))
    #expect(text[..<place.lowerBound] == "aab " && text[place.upperBound...] == "aab > of c")
    #expect(text.firstRange(of: "aac") == nil)
    // A beginning that is part of what is looked for.
    let late = try #require("aaab".firstRange(of: "aab"))
    #expect("aaab"[..<late.lowerBound] == "a")
    #expect("ab".firstRange(of: "abc") == nil && "".firstRange(of: "a") == nil)
    #expect("ab".firstRange(of: "") == "ab".startIndex..<"ab".startIndex)
  }

  @Test func aTextIsInAnother() {
    #expect("one two".contains("e t") && !"one two".contains("et") && "one"[...].contains("one"))
    // A letter with a mark is another letter.
    #expect(!"cafe\u{301}".contains("fe") && "cafe\u{301}".contains("f\u{E9}"))
  }
}
