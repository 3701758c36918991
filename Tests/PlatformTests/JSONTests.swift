import Foundation
import Platform
import Testing

struct JSONTests {
  private static func array(_ texts: [String]) -> String {
    var writer = JSONWriter()
    writer.array { writer in
      for text in texts { writer.value(text) }
    }
    return writer.text
  }

  /// Random scalars, with a preference for those that need escaping.
  private static func text(_ random: inout SplitMix) -> String {
    let careful: [Unicode.Scalar] = [
      "\"", "\\", "/", "\n", "\r", "\t", "\0", "\u{1F}", "\u{7F}", "\u{80}", "\u{301}", "\u{2028}",
      "\u{FEFF}", "🎈",
      "\u{10FFFF}", "\u{D7FF}", "\u{E000}", "é", "{", "]", ",",
    ]
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      if Bool.random(using: &random) {
        text.append(careful.randomElement(using: &random) ?? "a")
      } else if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x2FFFF, using: &random)) {
        text.append(scalar)
      }
    }
    return String(text)
  }

  private static func scalars(_ texts: [String]) -> [[Unicode.Scalar]] {
    texts.map { Array($0.unicodeScalars) }
  }

  @Test func anotherReaderReadsWhatIsWritten() throws {
    var random = SplitMix(state: 99)
    for _ in 0..<2000 {
      // Foundation takes U+FEFF at the beginning of any piece of text for a byte order mark, and drops it.
      let texts = (0..<Int.random(in: 0...4, using: &random)).map { _ in
        String(String.UnicodeScalarView(Self.text(&random).unicodeScalars.filter { $0 != "\u{FEFF}" }))
      }
      let json = Self.array(texts)
      let read = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String]
      #expect(read.map(Self.scalars) == Self.scalars(texts), "\(json)")
    }
  }

  @Test func theTextsWrittenAreRead() {
    var random = SplitMix(state: 100)
    for _ in 0..<2000 {
      let texts = (0..<Int.random(in: 0...4, using: &random)).map { _ in Self.text(&random) }
      #expect(JSONStrings.read(Self.array(texts)).map(Self.scalars) == Self.scalars(texts))
    }
  }

  @Test func noByteOfALineEndsTheLine() {
    let json = Self.array([String(String.UnicodeScalarView((0..<0xA0).compactMap(Unicode.Scalar.init)))])
    #expect(json.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
  }

  @Test func membersAndElementsArePartedByCommas() throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("a", 1)
      writer.key("b")
      writer.array { writer in
        writer.object { _ in }
        writer.array { _ in }
        writer.value(nil as String?)
        writer.value(nil as Int64?)
        writer.value(true)
        writer.value(Int64.min)
      }
      writer.member("c", nil as Int64?)
      writer.key("d")
      writer.raw("{\"e\":[]}")
      writer.member("f", "g")
    }
    #expect(
      writer.text
        == #"{"a":1,"b":[{},[],null,null,true,-9223372036854775808],"c":null,"d":{"e":[]},"f":"g"}"#)
    #expect(try JSONSerialization.jsonObject(with: Data(writer.text.utf8)) is [String: Any])
  }

  @Test(
    arguments: [
      (0, "0"), (-0.0, "0"), (1.5, "1.5"), (12, "12"), (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"),
      (.nan, "null"),
      (.infinity, "null"), (-.infinity, "null"),
    ] as [(Double, String)])
  func aNumberIsWrittenAsJSONHasIt(number: Double, text: String) throws {
    var writer = JSONWriter()
    writer.array { $0.value(number) }
    #expect(writer.text == "[\(text)]")
    _ = try JSONSerialization.jsonObject(with: Data(writer.text.utf8))
  }

  @Test(
    arguments: [
      ("[]", []), (" [ \"a\" ,\n\"b\" ] ", ["a", "b"]), (#"["\u0041\n\"\\\/"]"#, ["A\n\"\\/"]),
      ("[\"\u{301}\"]", ["\u{301}"]),
    ] as [(String, [String])])
  func anArrayOfTextsIsRead(json: String, texts: [String]) {
    #expect(JSONStrings.read(json) == texts)
  }

  @Test(
    arguments: [
      "", "{}", "\"a\"", "[", "[\"a\"", "[\"a\",", "[\"a\",]", "[,]", "[1]", "[null]", "[\"a\" \"b\"]",
      "[\"a]",
      #"["\"]"#, #"["\u12"]"#, #"["\uD800"]"#, #"["\uzzzz"]"#, "a[]", "[[\"a\"]]",
    ])
  func whatIsNoArrayOfTextsIsRefused(json: String) {
    #expect(JSONStrings.read(json) == nil)
  }

  @Test func theRowsWrittenAreRead() {
    var random = SplitMix(state: 101)
    for _ in 0..<500 {
      let rows = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        (0..<Int.random(in: 0...5, using: &random)).map { _ -> JSONRows.Value in
          switch Int.random(in: 0...2, using: &random) {
          case 0: .null
          case 1: .integer(Int64.random(in: .min ... .max, using: &random))
          default: .text(Self.text(&random))
          }
        }
      }
      var writer = JSONWriter()
      writer.array { writer in
        for row in rows {
          writer.array { writer in
            for value in row {
              switch value {
              case .null: writer.value(nil as String?)
              case .integer(let integer): writer.value(integer)
              case .text(let text): writer.value(text)
              }
            }
          }
        }
      }
      #expect(JSONRows.read(writer.text) == rows, "\(writer.text)")
    }
  }

  @Test(
    arguments: [
      "", "{}", "[1]", "[[1]", "[[1],]", "[[1,]]", "[[,1]]", "[[1]]]", "[[1.5]]", "[[true]]", "[[nul]]",
      "[[[1]]]", "[[\"a]]", "[[1 2]]",
    ])
  func whatIsNoArrayOfRowsIsRefused(json: String) {
    #expect(JSONRows.read(json) == nil)
  }
}
