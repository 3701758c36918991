import Pipeline
import Platform
import Testing

struct PathTemplateTests {
  /// Names that a hostile sender may try.
  private static let hostile = [
    "../", "..", ".", "/", "//", "/etc/passwd", "../../../../etc/passwd", "\0", "a\0b", ".hidden",
    ".incoming",
    "", " ", "\n", "~", "-rf", "a\\b", "..\\..\\x", "%2e%2e%2f", "CON", "naïve 🎈.pdf", "\u{202E}fdp.exe",
    "\u{301}/", "/\u{301}", ".\u{301}", "a/\u{338}/b", "{sha256}", "}", "...",
    String(repeating: "../", count: 400),
    String(repeating: "a", count: 1 << 20), String(repeating: "é", count: 1 << 19),
  ]

  private static let template = "documents/{conversationId}/{messageId}/{fileName}.{extension}"

  /// A rule for every path, checked by bytes, as the kernel does.
  private static func isWithin(_ path: String) -> Bool {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return path.utf8.count <= PathTemplate.limit && !path.utf8.contains(0)
      && parts.allSatisfy { !$0.isEmpty && $0.first != UInt8(ascii: ".") }
  }

  @Test(arguments: hostile)
  func aHostileValueStaysInItsPart(value: String) throws {
    let template = try #require(PathTemplate(Self.template))
    let path = try #require(template.path { _ in value })
    #expect(Self.isWithin(path))
    #expect(path.utf8.count { $0 == UInt8(ascii: "/") } == 3)
    #expect(path.hasPrefix("documents/"))
  }

  @Test(arguments: hostile)
  func anEscapedValueIsShortPlainASCII(value: String) {
    let escaped = PathTemplate.escaped(value)
    #expect((1...202).contains(escaped.utf8.count))
    let isPlain = escaped.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_.%".utf8.contains(byte)
      }
    }
    #expect(isPlain)
  }

  @Test(
    arguments: [
      ("report-1_a.pdf", "report-1_a.pdf"), ("", "_"), ("..", "%2E."), (".a", "%2Ea"), ("a/b", "a%2Fb"),
      ("\0", "%00"), ("é", "%C3%A9"), ("50%", "50%25"), ("%2F", "%252F"), ("a b", "a%20b"),
    ])
  func aValueIsEscapedByteByByte(value: String, escaped: String) {
    #expect(PathTemplate.escaped(value) == escaped)
  }

  @Test func noRandomBytesLeaveTheFolder() throws {
    var random = SplitMix(state: 20_260)
    let templates = try [
      "{fileName}", "a/{fileName}", "{conversationId}{messageId}/{fileName}", Self.template,
      "x-{sha256}/{type}/{subtype}/{senderId}/{attachmentId}/{fileName}",
    ].map { try #require(PathTemplate($0)) }
    let pieces: [[UInt8]] = [
      [0x2E], [0x2F], [0], [0x2E, 0x2E, 0x2F], [0xCC, 0x81], [0xFF], [0x5C], [0x25], [0x7B],
    ]
    var tooLong = 0
    for _ in 0..<1500 {
      func value() -> String {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...(Bool.random(using: &random) ? 6 : 300), using: &random) {
          bytes +=
            Bool.random(using: &random)
            ? pieces.randomElement(using: &random) ?? [] : [UInt8.random(in: 0...255, using: &random)]
        }
        return String(decoding: bytes, as: UTF8.self)
      }
      let template = try #require(templates.randomElement(using: &random))
      guard let path = template.path({ _ in value() }) else {
        tooLong += 1
        continue
      }
      #expect(Self.isWithin(path), "\(path.debugDescription)")
      #expect(
        PathTemplate.problem(in: path) == nil, "a finished path passes the check that workers' words get")
    }
    #expect((1..<750).contains(tooLong), "the limit is reached, but not by most")
  }

  @Test func aPathBeyondTheLimitIsNone() throws {
    let long = String(repeating: "a", count: 200)
    let template = try #require(
      PathTemplate(
        "{senderId}/{conversationId}/{messageId}/{fileName}/{sha256}/" + String(repeating: "b", count: 19)))
    #expect(template.path { _ in long }?.utf8.count == 1024)
    let longer = try #require(
      PathTemplate(
        "{senderId}/{conversationId}/{messageId}/{fileName}/{sha256}/" + String(repeating: "b", count: 20)))
    #expect(longer.path { _ in long } == nil)
  }

  @Test func eachPlaceholderGetsItsOwnValue() throws {
    for name in PathTemplate.placeholders {
      let template = try #require(PathTemplate("a/{\(name)}-b"))
      #expect(template.path { "<\($0)>" } == "a/%3C\(name)%3E-b")
    }
  }

  @Test(
    arguments: [
      "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", ".a/b", "a/.b", "a/.{fileName}",
      "a\0b",
      "{", "}", "{}", "a{b", "a}b", "{nothing}", "{{fileName}}", "{fileName}/{", "{../}", "{fileName }",
    ])
  func whatIsNoTemplateIsRefusedAndSaysWhy(text: String) {
    #expect(PathTemplate(text) == nil)
    #expect(PathTemplate.problem(in: text)?.isEmpty == false)
  }

  /// A letter and a mark after it are one character to Swift and two to the kernel.
  @Test(arguments: ["/\u{301}etc/x", "a//\u{301}b", "a/\u{301}/", ".\u{301}a/b", "a/.\u{338}", "a\0\u{301}b"])
  func aCombiningMarkHidesNoSlashAndNoDot(text: String) {
    #expect(PathTemplate.problem(in: text) != nil)
  }

  @Test func aTemplateKeepsItsText() {
    #expect(PathTemplate(Self.template)?.description == Self.template)
    #expect(PathTemplate.problem(in: Self.template) == nil)
  }

  @Test(
    arguments: [
      ("application/pdf", "pdf"), ("image/jpeg", "jpg"), (nil, "bin"), ("", "bin"), ("video/mp4", "mp4"),
      ("application/x-tar", "bin"), ("a/../../b", "b"), ("a/.", "bin"), ("a/reallylongsubtype", "bin"),
      ("application/octet-stream", "bin"),
    ] as [(String?, String)])
  func anObjectGetsTheUsualExtension(type: String?, expected: String) {
    #expect(PathTemplate.fileExtension(for: type) == expected)
  }

  @Test(
    arguments: [
      "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", ".a", "a/.b", ".incoming/x",
      "a\0b", "/\u{301}a", "a//\u{301}b", "a/\u{301}/", ".\u{301}a", "a/.\u{338}",
      String(repeating: "a/", count: 512) + "a",
    ])
  func aHostilePathIsNone(path: String) {
    #expect(!PathTemplate.isPath(path))
  }

  @Test(arguments: ["a", "a/b", "documents/%2E./a.pdf", "a..b", "ü/\u{1F388}", "-rf", " "])
  func aPathBelowTheStoreIsOne(path: String) {
    #expect(PathTemplate.isPath(path))
  }
}
