import LedgerPort
import Testing

/// Patterns as shells have them, in SQLite's form.
struct GlobTests {
  @Test(arguments: [
    ("*.pdf", "*.pdf"), ("[!a]*", "[^a]*"), ("[^a]", "[^a]"), ("[a!]", "[a!]"), ("[]!]x", "[]!]x"),
    ("[!]]", "[^]]"),
    ("x[!a-c][!d]", "x[^a-c][^d]"), ("[[!]", "[[!]"), ("[", "["), ("[!", "[^"), ("a]![!b]", "a]![^b]"),
    ("", ""),
  ])
  func aSetIsNegatedByACircumflex(pattern: String, glob: String) {
    #expect(AttachmentFilter.glob(pattern) == glob)
  }
}
