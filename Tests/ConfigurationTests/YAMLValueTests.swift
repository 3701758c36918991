import Configuration
import Platform
import Testing

/// A text written into a file is read back as the same text.
struct YAMLValueTests {
  /// A text, as the value of a key in braces, and on a line of its own.
  private func readBack(_ text: String) throws -> [Configuration.Expectation.Text?] {
    try ["{ verdict: pass }", "\n    verdict: pass"].map { expect in
      let file = "stage: size\ncases:\n- name: a\n  expect: \(expect)\n"
      let document = try CaseDocumentTests.parse(file)
      var rewriter = ExpectationRewriter(document)
      _ = rewriter.rewrite(
        document.cases[0].expectation,
        [
          ("message", .write(.text(text))),
          ("metadata", .write(.map([.init(key: text, value: .text(text))]))),
        ])
      let expectation = try CaseDocument.parse(rewriter.bytes, file: "f").cases[0].expectation
      let metadata = try #require(expectation.metadata?.value.first)
      #expect(metadata.key.utf8.elementsEqual(text.utf8))
      guard case .scalar(let value, _) = metadata.value else {
        Issue.record("not a scalar: \(text)")
        return nil
      }
      #expect(value.utf8.elementsEqual(text.utf8))
      return expectation.message?.value
    }
  }

  @Test(arguments: [
    "", " ", "a", "a b", " a", "a ", "- a", "a: b", "a:", "a #b", "#a", "\"", "'", "\\", "\\n", "a\nb", "\t",
    "a\rb",
    "~", "null", "Null", "true", "yes", "NO", "on", "1", "-1", "1.5", "0x1F", "1e5", ".5", "inf", "nan",
    "1_000",
    "12:30", "2026-01-05", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "{a}", "[a]", "a,b", "?", "? a",
    "---", "...",
    "a\u{301}", "\u{301}", "é", "🎈👩‍👩‍👧", "\u{85}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{FFFF}",
    "\u{7F}", "\u{1B}[2J",
    "\u{202E}gnp", "\u{E000}", "\u{10FFFF}", "<<", "=", "a\r\nb", "C:\\x", "/a/b", "(a)", "a (b) + c",
  ])
  func aTextThatMeansSomethingElseIsATextAgain(text: String) throws {
    for found in try readBack(text) {
      guard case .exactly(let found)? = found else {
        Issue.record("\(text) became something else")
        return
      }
      #expect(found.utf8.elementsEqual(text.utf8))
    }
  }

  private static let pieces = [
    "a", "B", "0", " ", "  ", "\n", "\r", "\t", "\"", "'", "\\", ":", ": ", "#", " #", ",", "{", "}", "[",
    "]", "&",
    "*", "!", "|", ">", "%", "@", "`", "-", "- ", "?", "~", "é", "e\u{301}", "🎈", "\u{1}", "\u{8}", "\u{1B}",
    "\u{7F}",
    "\u{85}", "\u{A0}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{202E}", "\u{200D}", "\u{FFFD}", "\u{FFFF}",
    "\u{1F468}",
    "true", "null", "1", ".", "/", "(", ")", "+",
  ]

  @Test func randomTextsAreReadBack() throws {
    var random = SplitMix(state: 3)
    for _ in 0..<1500 {
      let count = Int.random(in: 0...12, using: &random)
      let text = (0..<count).map { _ in Self.pieces.randomElement(using: &random) ?? "" }.joined()
      for found in try readBack(text) {
        guard case .exactly(let found)? = found, found.utf8.elementsEqual(text.utf8) else {
          Issue.record("not read back: \(text.debugDescription)")
          return
        }
      }
    }
  }
}
