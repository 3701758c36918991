import JSONText
import Testing

@testable import FrontDoor

/// Values in the body of a request.
struct BodyMembersTests {
  private let parser: JSONParser

  init() throws { parser = try JSONParser() }

  private func members(_ body: String) throws -> BodyMembers {
    try BodyMembers(Array(body.utf8), ["a", "b"], parser)
  }

  @Test func aTimeHasAnOffset() throws {
    for (text, expected) in [
      ("2026-01-31T08:00:00Z", 1_769_846_400_000), ("2026-01-31T09:30:00+01:30", 1_769_846_400_000),
      ("2026-01-31T00:00:00-08:00", 1_769_846_400_000), ("2026-01-31T08:00:00.500Z", 1_769_846_400_500),
    ] as [(String, Int64)] { #expect(try members(#"{"a":"\#(text)"}"#).time("a") == expected, "\(text)") }
    for text in [
      "2026-01-31", "2h", "2026-01-31T08:00:00", "2026-01-31T08:00:00+1:00", "2026-01-31T08:00:00+24:00",
      "2026-01-31T08:00:00 01:00", "+01:00", "T", "", "9999-12-31T23:59:59-14:00",
      "1969-12-31T23:59:59Z",
    ] { #expect(throws: Problem.self, "\(text)") { try members(#"{"a":"\#(text)"}"#).time("a") } }
    #expect(try members(#"{"a":null}"#).time("a") == nil && members("{}").time("a") == nil)
  }

  @Test func halvesOfCharactersAreNone() throws {
    for text in [#"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\ud800x\udc00"#, #"\\\ud800"#, #"\uD83D\u0041"#]
    {
      #expect(throws: Problem.self, "\(text)") { try members(#"{"a":"\#(text)"}"#) }
    }
    for (text, expected) in [(#"\ud83d\ude00"#, "😀"), (#"\\ud800"#, #"\ud800"#), (#"\n\u00e9"#, "\né")] {
      #expect(try members(#"{"a":"\#(text)"}"#).text("a") == expected)
    }
  }

  @Test func whatIsNoMemberIsRefused() throws {
    for body in ["", "[]", "1", #"{"c":1}"#, #"{"a":1,"a":1}"#, #"{"a":"\u0000"}"#, "{\"a\":\"\0\"}"] {
      #expect(throws: Problem.self, "\(body)") { try members(body) }
    }
    let given = try members(#"{"a":[1],"b":1.5}"#)
    #expect(throws: Problem.self) { try given.texts("a") }
    #expect(throws: Problem.self) { try given.number("b", least: 0) }
    #expect(throws: Problem.self) { try given.boolean("b") }
    #expect(try members(#"{"a":["x","y"]}"#).texts("a") == ["x", "y"])
  }
}
