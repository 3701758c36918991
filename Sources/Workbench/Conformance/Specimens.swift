import Platform

/// Generated test content: the same bytes every time.
enum Specimens {
  static let hostileNames = [
    "../../../../etc/passwd", "/etc/passwd", "..", ".", "-rf", "a\u{202E}fdp.exe", "line\nbreak.pdf",
    "tab\t.pdf",
    "$(reboot).pdf", "`id`.pdf", "%s%s%n%n.pdf", "'; DROP TABLE attachments; --.pdf",
    "<script>alert(1)</script>.png",
    "\u{1B}[2J.pdf", "{sha256}", "COM1", " .pdf", "e\u{301}.pdf", String(repeating: "a", count: 255),
    String(repeating: "漢", count: 85), ".pdf", "a.pdf ", "\u{FFFD}\u{FFFD}",
  ]

  /// Small contents of many kinds, most of them broken.
  static func contents(_ count: Int) -> [[UInt8]] {
    var random = SplitMix(state: 0x51_1CE)
    return (0..<count).map { number in
      var bytes = seeds[number % seeds.count]
      switch number / seeds.count % 4 {
      case 0: break
      case 1: bytes = Array(bytes.prefix(Int(random.next() % UInt64(bytes.count + 1))))
      case 2:
        for _ in 0..<(1 + bytes.count / 50) where !bytes.isEmpty {
          bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
        }
      default: bytes += (0..<Int(random.next() % 4096)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      }
      return bytes
    }
  }

  private static let seeds: [[UInt8]] = [
    Array("hello, world\n".utf8),
    pdf,
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [
      0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0,
    ],
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 0, 0, 0xFF, 0xD9],
    Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B],
    Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 0, count: 26),
    Array("{\"a\":[1,2,{\"b\":null}]}".utf8),
    [0xFF, 0xFE, 0x68, 0, 0x69, 0, 0, 0xD8],
  ]

  /// A PDF with one empty page and correct object offsets.
  private static let pdf: [UInt8] = {
    let objects = [
      "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
      "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>",
    ]
    var text = "%PDF-1.4\n"
    var places: [Int] = []
    for (number, object) in objects.enumerated() {
      places.append(text.utf8.count)
      text += "\(number + 1) 0 obj\n\(object)\nendobj\n"
    }
    let table = text.utf8.count
    text += "xref\n0 4\n0000000000 65535 f \n"
    for place in places {
      let digits = String(place)
      text += String(repeating: "0", count: 10 - digits.count) + digits + " 00000 n \n"
    }
    return Array((text + "trailer\n<</Size 4/Root 1 0 R>>\nstartxref\n\(table)\n%%EOF\n").utf8)
  }()
}
