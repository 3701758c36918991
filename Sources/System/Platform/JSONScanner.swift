/// Parses the output of ``JSONWriter``.
struct JSONScanner {
  private var rest: Substring.UnicodeScalarView

  init(_ json: String) {
    rest = Substring(json).unicodeScalars
  }

  /// Whether only space follows.
  var isAtEnd: Bool { rest.allSatisfy(Self.isSpace) }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar == "\n" || scalar == "\t" || scalar == "\r"
  }

  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    while let first = rest.first, Self.isSpace(first) { rest.removeFirst() }
    guard rest.first == scalar else { return false }
    rest.removeFirst()
    return true
  }

  /// The text up to the next comma, bracket, brace or space: a number, `true`, `false` or `null`.
  mutating func word() -> String {
    while let first = rest.first, Self.isSpace(first) { rest.removeFirst() }
    let word = rest.prefix { !Self.isSpace($0) && $0 != "," && $0 != "]" && $0 != "}" }
    rest.removeFirst(word.count)
    return String(String.UnicodeScalarView(word))
  }

  /// The rest of a string whose opening quote has been read (RFC 8259, section 7).
  mutating func string() -> String? {
    var text = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\"": return String(text)
      case "\\":
        guard let escaped = rest.popFirst() else { return nil }
        switch escaped {
        case "n": text.append("\n")
        case "r": text.append("\r")
        case "t": text.append("\t")
        case "b": text.append("\u{8}")
        case "f": text.append("\u{C}")
        case "u":
          let digits = String(String.UnicodeScalarView(rest.prefix(4)))
          guard digits.count == 4, let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value)
          else {
            return nil
          }
          rest.removeFirst(4)
          text.append(scalar)
        default: text.append(escaped)
        }
      default: text.append(scalar)
      }
    }
    return nil
  }
}
