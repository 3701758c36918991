import Bytes
import Foundation
import Platform
import Testing

/// What is read from programs that are not trusted.
struct JSONValueTests {
  @Test func eachKindOfValueIsRead() {
    #expect(JSONValue(" null ".utf8) == .null)
    #expect(JSONValue("true".utf8) == .boolean(true))
    #expect(JSONValue("-0".utf8) == .integer(0))
    #expect(JSONValue("9223372036854775807".utf8) == .integer(.max))
    #expect(JSONValue("9223372036854775808".utf8) == .number(9_223_372_036_854_775_808))
    #expect(JSONValue("1.0".utf8) == .number(1))
    #expect(JSONValue("2E-1".utf8) == .number(0.2))
    #expect(JSONValue(#""a\u0062\/""#.utf8) == .text("ab/"))
    #expect(JSONValue("[ 1 , [] ]".utf8) == .array([.integer(1), .array([])]))
    #expect(
      JSONValue(#"{ "a" : 1, "b" : {} }"#.utf8)
        == .object([.init("a", .integer(1)), .init("b", .object([]))]))
  }

  @Test(arguments: [
    "", " ", "nul", "True", "NaN", "Infinity", "1 2", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x10",
    "1_000", "'a'",
    "\"a", "\"\n\"", "\"\t\"", "\"\u{0}\"", #""\x""#, #""\u12""#, #""\u12g4""#, #""\u+123""#, "[1,]", "[,1]",
    "[1 2]", "[1",
    "[1}", "{1:2}", #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":}"#, #"{"a":1"#, #"{"a":1 "b":2}"#, #"{"a":1}}"#,
    "{a:1}",
    "\u{FEFF}1", "//\n1",
  ])
  func whatIsNoJSONIsRefused(text: String) {
    #expect(JSONValue(text.utf8) == nil)
  }

  @Test func aNameThatStandsTwiceIsRefused() {
    #expect(JSONValue(#"{"verdict":"pass","verdict":"reject"}"#.utf8) == nil)
    // Also where it is written in two ways.
    #expect(JSONValue(#"{"a":1,"\u0061":2}"#.utf8) == nil)
    #expect(JSONValue(#"{"a":{"a":1},"b":[{"a":1}]}"#.utf8) != nil)
  }

  @Test func twoSurrogatesAreOneScalarAndOneAloneIsNone() {
    #expect(JSONValue(#""\ud83c\udf88""#.utf8) == .text("🎈"))
    #expect(JSONValue(#""\ud83c""#.utf8) == .text("\u{FFFD}"))
    #expect(JSONValue(#""\udf88\ud83c""#.utf8) == .text("\u{FFFD}\u{FFFD}"))
    #expect(JSONValue(#""\ud83cx\u0041""#.utf8) == .text("\u{FFFD}xA"))
    #expect(JSONValue(#""\ud83c\u0041""#.utf8) == .text("\u{FFFD}A"))
    #expect(JSONValue(#""\ud83c\n""#.utf8) == .text("\u{FFFD}\n"))
  }

  @Test func bytesThatAreNotUTF8AreReplaced() {
    #expect(JSONValue([0x22, 0xFF, 0x61, 0x22]) == .text("\u{FFFD}a"))
    #expect(JSONValue([0xFF]) == nil)
  }

  @Test func nestingHasALimit() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(JSONValue(nested(JSONValue.depthLimit).utf8) != nil)
    #expect(JSONValue(nested(JSONValue.depthLimit + 1).utf8) == nil)
    #expect(JSONValue(String(repeating: "{\"a\":", count: 100_000).utf8) == nil)
  }

  /// Foundation's reader agrees on short texts of the letters that matter.
  @Test func anotherReaderAgrees() {
    let letters = Array("{}[]\",:01-.e+ tn\\u")
    var random = SplitMix(state: 7)
    var agreed = 0
    for _ in 0..<20_000 {
      let text = String(
        (0..<Int.random(in: 1...7, using: &random)).map { _ in letters.randomElement(using: &random) ?? "0" })
      // Foundation lets numbers be that end in a point.
      if text.contains(".") { continue }
      let isRead =
        (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
      #expect((JSONValue(text.utf8) != nil) == isRead, "\(text)")
      agreed += isRead ? 1 : 0
    }
    #expect(agreed > 100)
  }
}
