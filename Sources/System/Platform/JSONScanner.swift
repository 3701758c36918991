/// Parses the output of ``JSONWriter``.
struct JSONScanner {
  private var rest: Substring.UTF8View

  init(_ json: String) {
    rest = Substring(json).utf8
  }

  /// Whether only space follows.
  var isAtEnd: Bool { rest.allSatisfy(Self.isSpace) }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
      || byte == UInt8(ascii: "\r")
  }

  private mutating func skipSpace() {
    while let first = rest.first, Self.isSpace(first) { rest.removeFirst() }
  }

  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    skipSpace()
    guard rest.first == UInt8(ascii: scalar) else { return false }
    rest.removeFirst()
    return true
  }

  /// The text up to the next comma, bracket, brace or space: a number, `true`, `false` or `null`.
  mutating func word() -> String {
    skipSpace()
    let word = rest.prefix {
      !Self.isSpace($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "]") && $0 != UInt8(ascii: "}")
    }
    rest = rest[word.endIndex...]
    return String(Substring(word))
  }

  /// The rest of a string whose opening quote has been read (RFC 8259, section 7).
  mutating func string() -> String? {
    var text = ""
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
      text += Substring(rest[..<end])
      let isEnd = rest[end] == UInt8(ascii: "\"")
      rest = rest[rest.index(after: end)...]
      if isEnd { return text }
      guard let scalar = escaped() else { return nil }
      text.unicodeScalars.append(scalar)
    }
    return nil
  }

  /// What follows a backslash.
  private mutating func escaped() -> Unicode.Scalar? {
    switch rest.popFirst() {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "u"):
      let digits = rest.prefix(4)
      rest = rest[digits.endIndex...]
      return digits.count == 4 ? UInt32(Substring(digits), radix: 16).flatMap(Unicode.Scalar.init) : nil
    case let other?: return other < 0x80 ? Unicode.Scalar(other) : nil
    case nil: return nil
    }
  }
}
