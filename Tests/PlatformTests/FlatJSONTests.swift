import Platform
import Testing

/// What is read without making texts is what is read with them.
struct FlatJSONTests {
  /// The members, or that it is something else.
  private static func read(_ json: String) -> [String]? {
    var (flat, json) = (FlatJSON(), json)
    return json.withUTF8 { bytes -> [String]? in
      guard flat.read(bytes) else { return nil }
      func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
      return flat.members.map { "\(text($0.key))=\($0.isText ? "text " : "")\(text($0.value))" }
    }
  }

  private static func expected(_ json: String) -> [String]? {
    JSONMembers.read(json)?.map { key, value in
      switch value {
      case .text(let text): "\(key)=text \(text)"
      case .integer(let integer): "\(key)=\(integer)"
      case .number(let number): "\(key)=\(number)"
      case .boolean(let boolean): "\(key)=\(boolean)"
      }
    }
  }

  @Test(arguments: [
    "{}", #"{"mime.magic":"text/plain","pdf.pages":12,"pdf.encrypted":false}"#, #"{"a":"","b":-7,"c":true}"#,
    #"{"ä":"ö, } { [","n":0}"#, #"{"a":123456789012345678}"#,
  ])
  func whatIsWrittenMostlyIsRead(json: String) throws {
    let members = try #require(Self.read(json))
    #expect(members == Self.expected(json))
  }

  @Test(arguments: [
    "", "{", "[]", "null", #"{"a":1"#, #"{"a":1}x"#, #"{"a":1,}"#, #"{"a" :1}"#, #"{"a":null}"#,
    #"{"a":[1]}"#,
    #"{"a":{}}"#, #"{"a":"\n"}"#, #"{"a\u0041":1}"#, #"{"a":1.50}"#, #"{"a":1e3}"#, #"{"a":-0}"#,
    #"{"a":01}"#,
    #"{"a":-}"#, #"{"a":}"#, #"{"a":1234567890123456789}"#, #"{"a":"b"#, #"{a:1}"#, #"{"a":truer}"#,
  ])
  func anythingElseIsLeftToTheOtherReader(json: String) {
    #expect(Self.read(json) == nil)
  }

  /// Whatever it reads of random bytes, the other reader reads the same.
  @Test func bothReadersAgree() {
    var random = SplitMix(state: 11)
    let pieces = [
      "{", "}", "\"", "a", "b.c", ":", ",", "1", "-", "true", "false", "\\", " ", "0", "é", "{\"a\":",
    ]
    var read = 0
    for _ in 0..<200_000 {
      var json = "{\"k\":"
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        json += pieces.randomElement(using: &random) ?? ""
      }
      if Bool.random(using: &random) { json += "}" }
      guard let members = Self.read(json) else { continue }
      read += 1
      #expect(members == Self.expected(json), "\(json)")
    }
    #expect(read > 1000)
  }
}
