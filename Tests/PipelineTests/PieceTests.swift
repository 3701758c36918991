import Pipeline
import Testing

/// Names of what is taken out of contents.
struct PieceTests {
  @Test(arguments: [
    ("a.eml", "a.eml"), (String(repeating: "a", count: 255), String(repeating: "a", count: 255)),
    (String(repeating: "a/", count: 150) + "m.eml", String(repeating: "a/", count: 125) + "a.eml"),
    (String(repeating: "a", count: 300), String(repeating: "a", count: 255)),
    ("." + String(repeating: "a", count: 300), "." + String(repeating: "a", count: 254)),
    (String(repeating: "ä", count: 150) + ".eml", String(repeating: "ä", count: 125) + ".eml"),
    (String(repeating: "a", count: 300) + ".", String(repeating: "a", count: 254) + "."),
    ("x." + String(repeating: "ä", count: 140), "x." + String(repeating: "ä", count: 126)),
  ])
  func aLongNameKeepsItsEnding(name: String, shortened: String) {
    #expect(Piece.childName(name) == shortened && shortened.utf8.count <= 255)
  }
}
