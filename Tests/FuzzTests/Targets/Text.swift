import Charsets

@testable import TextStage

extension FuzzTarget {
  /// A text file in any encoding.
  static let textFile = FuzzTarget(name: "text") { bytes in
    let converters = Converters(Detection.candidates)
    for limit in [16, 1024] {
      let start = bytes.prefix(4 * limit)
      let isCut = start.count < bytes.count
      guard
        let read = Array(start).withUnsafeBytes({ TextFile($0, converters, maxBytes: limit, isCut: isCut) })
      else { continue }
      let excerpt = read.excerpt
      try demand(excerpt.bytes.count <= limit, "\(excerpt.bytes.count) bytes where \(limit) are wanted")
      guard let text = String(validating: excerpt.bytes, as: UTF8.self) else {
        throw Violation(description: "the text is no UTF-8: \(excerpt.bytes)")
      }
      try demand(
        text.unicodeScalars.count == excerpt.characters, "\(excerpt.characters) characters in \(text)")
      try demand(
        !text.unicodeScalars.contains {
          $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t"
        },
        "controls in \(text.debugDescription)")
      try demand(
        excerpt.isBlank == text.unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0 == "\u{FEFF}" },
        "blank or not: \(text.debugDescription)")
      guard read.charset == .utf8, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }),
        let whole = String(validating: bytes, as: UTF8.self),
        !whole.unicodeScalars.contains(where: { "\u{80}"..."\u{9F}" ~= $0 || "\u{2028}"..."\u{2029}" ~= $0 })
      else { continue }
      let plain = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
      try demand(plain.starts(with: excerpt.bytes), "plain text has changed: \(text.debugDescription)")
      try demand(excerpt.isTruncated || excerpt.bytes.count == plain.count, "some of it is missing: \(text)")
    }
  }
}
