import Pipeline
import Testing

struct MediaTypePatternTests {
  @Test(
    arguments: [
      ("application/pdf", "application/pdf", true), ("application/pdf", "application/pdfx", false),
      ("application/pdf", "application/pd", false), ("application/pdf", "text/pdf", false),
      ("image/*", "image/png", true), ("image/*", "image/svg+xml", true), ("image/*", "images/png", false),
      ("image/*", "image", false), ("*/*", "anything/at-all", true), ("*/*", "not a type", true),
      ("image/*", "", false), ("application/pdf", "/", false),
    ])
  func aPatternMatchesItsTypesAndNoOthers(pattern: String, type: String, matches: Bool) throws {
    #expect(try #require(MediaTypePattern(pattern)).matches(type) == matches)
  }

  @Test func matchingIgnoresCase() throws {
    #expect(try #require(MediaTypePattern("Application/PDF")).matches("aPPLICATION/pdf"))
    #expect(try #require(MediaTypePattern("IMAGE/*")).matches("Image/PNG"))
  }

  @Test func matchingIgnoresParameters() throws {
    let pattern = try #require(MediaTypePattern("text/plain"))
    #expect(pattern.matches("text/plain;charset=utf-8"))
    #expect(pattern.matches("text/plain ; charset=utf-8"))
    #expect(!pattern.matches("text/html; x=text/plain"))
  }

  @Test func anUnknownTypeMatchesOnlyThePatternForAll() throws {
    #expect(try #require(MediaTypePattern("*/*")).matches(nil))
    #expect(!(try #require(MediaTypePattern("image/*")).matches(nil)))
    #expect(!(try #require(MediaTypePattern("image/png")).matches(nil)))
  }

  @Test(
    arguments: [
      "", "/", "a", "a/", "/b", "a/b/c", "*/pdf", "*", "a/**", "im*/png", "a b/c", "a/b;c=d", "a/b ", "ä/b",
      "a/\u{301}b", "a/b\0", "(a)/b", "a@/b", "a/\"b\"",
    ])
  func whatIsNoPatternIsRefused(text: String) {
    #expect(MediaTypePattern(text) == nil)
  }

  @Test func aPatternIsShownAsItWasWritten() {
    #expect(MediaTypePattern("Image/*")?.description == "Image/*")
  }

  @Test(
    arguments: [
      ("application/pdf", true), ("text/plain; charset=utf-8", true), ("IMAGE/PNG", true),
      ("image/svg+xml", true), ("image/*", false), ("*/*", false), ("", false), ("a", false),
      ("a/b/c", false),
      ("a/b\n", false), ("a/b\u{1B}[31m", false), ("a/b; x=\u{7F}", false), ("a/ü", false), (" a/b", false),
    ])
  func aMediaTypeIsPlainTokensAndPerhapsParameters(text: String, isOne: Bool) {
    #expect(MediaTypePattern.isMediaType(text) == isOne)
  }

  @Test(
    arguments: [("pdf.pages", true), ("", false), ("a b", false), ("a\n", false), ("ä", false), ("~", true)])
  func aPlainNameIsPrintableASCIIWithoutSpaces(text: String, isOne: Bool) {
    #expect(PlainName.isOne(text) == isOne)
  }

  /// The Kelvin sign is an upper-case k to Unicode.
  @Test(arguments: ["image/\u{212A}", "\u{212A}/*", "te\u{301}xt/plain", "text/plain\u{301}"])
  func aPatternIsASCII(text: String) {
    #expect(MediaTypePattern(text) == nil)
  }
}
