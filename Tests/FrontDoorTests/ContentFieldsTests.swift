import Testing

@testable import FrontDoor

/// What is said of contents that others sent.
struct ContentFieldsTests {
  private static let names: [(String, String)] = [
    ("report.pdf", "inline; filename=\"report.pdf\""),
    ("../../etc/passwd", "inline; filename=\"passwd\""),
    ("C:\\windows\\x.exe", "inline; filename=\"x.exe\""),
    ("a\"b;c.pdf", "inline; filename=\"a_b;c.pdf\"; filename*=UTF-8''a%22b%3Bc.pdf"),
    ("é.pdf", "inline; filename=\"_.pdf\"; filename*=UTF-8''%C3%A9.pdf"),
    ("a\r\nSet-Cookie: x", "inline; filename=\"aSet-Cookie: x\""),
    ("gpj.\u{202E}exe", "inline; filename=\"gpj.exe\""),
    ("..", "inline; filename=\"attachment\""), ("", "inline; filename=\"attachment\""),
    (" . ", "inline; filename=\"attachment\""),
    (
      "=?utf-8?q?=2e=2e=2fx?=",
      "inline; filename=\"=_utf-8_q_=2e=2e=2fx_=\"; filename*=UTF-8''%3D%3Futf-8%3Fq%3F%3D2e%3D2e%3D2fx%3F%3D"
    ),
    // Joiners make a word, or one picture of several.
    (
      "\u{0645}\u{06CC}\u{200C}\u{062E}.txt",
      "inline; filename=\"____.txt\"; filename*=UTF-8''%D9%85%DB%8C%E2%80%8C%D8%AE.txt"
    ),
    (
      String(repeating: "a", count: 300) + ".pdf",
      "inline; filename=\"\(String(repeating: "a", count: 196)).pdf\""
    ),
    ("100%.txt", "inline; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
  ]

  @Test(arguments: names) func aNameIsHarmless(name: String, field: String) {
    #expect(ContentFields.disposition(name, isShown: true) == field)
  }

  @Test func aRandomNameEndsNothing() {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "\"", "\\", "/", "\r\n", "\0", ";", "%0d", "é", "🎉", "\u{202E}", "a", ".", " ", "*=''", "=",
    ]
    for _ in 0..<10_000 {
      let name = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }
      .joined()
      let field = ContentFields.disposition(name, isShown: false)
      #expect(field.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
      let plain = field.dropFirst("attachment; filename=\"".count).prefix { $0 != "\"" }
      #expect(field.hasPrefix("attachment; filename=\"") && !plain.isEmpty)
      #expect(!plain.contains("/") && !plain.contains("\\") && !plain.hasPrefix("."))
      let rest = field.dropFirst("attachment; filename=\"".count + plain.count + 1)
      #expect(rest.isEmpty || rest.hasPrefix("; filename*=UTF-8''"))
      #expect(field.utf8.count < 900)
    }
  }

  @Test(arguments: [
    "text/html", "image/svg+xml", "application/xml", "text/xml", "application/xhtml+xml", nil,
  ])
  func whatRunsScriptsIsNeverShown(type: String?) {
    let fields = ContentFields.all(mediaType: type, fileName: "x", isDownload: false)
    let disposition = fields.first { $0.name == "Content-Disposition" }?.value ?? ""
    #expect(disposition.hasPrefix("attachment"))
    #expect(fields.contains(.init("X-Content-Type-Options", "nosniff")))
    #expect(fields.contains(.init("Content-Security-Policy", "sandbox; default-src 'none'")))
  }

  @Test func aPictureIsShownUnlessItIsToBeSaved() {
    for (isDownload, word) in [(false, "inline"), (true, "attachment")] {
      let fields = ContentFields.all(mediaType: "image/png", fileName: "x.png", isDownload: isDownload)
      #expect(fields.first { $0.name == "Content-Disposition" }?.value.hasPrefix(word) == true)
    }
  }
}
