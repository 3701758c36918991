import LedgerPort
import Testing

/// Codes with commas between them.
struct CodeListTests {
  @Test(
    arguments: [
      ("too-large", ["too-large"]), ("a,b", ["a", "b"]), ("a,b,a", ["a", "b"]), ("x.y/z", ["x.y/z"]),
      ("~!", ["~!"]),
    ] as [(String, Set<String>)])
  func eachElementIsACode(text: String, codes: Set<String>) throws {
    #expect(try CodeList(text).codes == codes)
  }

  @Test(arguments: ["", ",", "a,", ",a", "a,,b"])
  func anEmptyElementIsNone(text: String) {
    #expect(throws: CodeList.Fault.empty) { try CodeList(text) }
  }

  @Test(arguments: [
    ("a b", "a b"), ("a, b", " b"), ("too-large,größe", "größe"), ("a\u{7F},b", "a\u{7F}"), ("a\n", "a\n"),
    ("a\u{0},b", "a\u{0}"),
  ])
  func whatNoCodeCanBeIsNamed(text: String, word: String) {
    #expect(throws: CodeList.Fault.impossible(word)) { try CodeList(text) }
  }
}
