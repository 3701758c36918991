/// Goes through a text of JSON (RFC 8259) from left to right.
public struct JSONScanner {
  private let bytes: [UInt8]
  private var place = 0
  /// Whether a surrogate that stands alone becomes U+FFFD; else the string is none. Names must not: two would be one.
  public var replacesLoneSurrogates = false

  public init(_ json: String) {
    bytes = Array(json.utf8)
  }

  public init(_ json: some Sequence<UInt8>) {
    bytes = Array(json)
  }

  /// Whether only space follows.
  public var isAtEnd: Bool { bytes[place...].allSatisfy(Self.isSpace) }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
      || byte == UInt8(ascii: "\r")
  }

  /// Goes on to the next byte that answers to a condition, or to the end.
  ///
  /// - Returns: the bytes before it.
  private mutating func skip(until isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = place
    while place < bytes.count, !isWanted(bytes[place]) { place += 1 }
    return bytes[start..<place]
  }

  private mutating func next() -> UInt8? {
    guard place < bytes.count else { return nil }
    defer { place += 1 }
    return bytes[place]
  }

  /// Goes beyond the next letter, if it is this one. Space before it does not count.
  public mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    _ = skip { !Self.isSpace($0) }
    guard place < bytes.count, bytes[place] == UInt8(ascii: scalar) else { return false }
    place += 1
    return true
  }

  /// The text up to the next comma, bracket, brace or space: a number, `true`, `false` or `null`.
  public mutating func word() -> String {
    _ = skip { !Self.isSpace($0) }
    let word = skip {
      Self.isSpace($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}")
    }
    return String(decoding: word, as: UTF8.self)
  }

  /// The rest of a string whose opening quote has been read (RFC 8259, section 7). Bytes that are not UTF-8 become U+FFFD.
  public mutating func string() -> String? {
    var text = ""
    while true {
      let piece = skip { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
      text += String(decoding: piece, as: UTF8.self)
      switch next() {
      case UInt8(ascii: "\""): return text
      case UInt8(ascii: "\\"):
        guard let scalar = escaped() else { return nil }
        text.unicodeScalars.append(scalar)
      default: return nil
      }
    }
  }

  /// What follows a backslash.
  private mutating func escaped() -> Unicode.Scalar? {
    switch next() {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "u"): return unit().flatMap { scalar(from: $0) }
    default: return nil
    }
  }

  /// What lies beyond the first 65,536 scalars is written as two surrogates. One alone stands for nothing.
  private mutating func scalar(from first: UInt32) -> Unicode.Scalar? {
    guard (0xD800...0xDFFF).contains(first) else { return Unicode.Scalar(first) }
    let start = place
    if first < 0xDC00, next() == UInt8(ascii: "\\"), next() == UInt8(ascii: "u"), let second = unit(),
      (0xDC00...0xDFFF).contains(second)
    {
      return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }
    place = start
    return replacesLoneSurrogates ? "\u{FFFD}" : nil
  }

  /// Four hexadecimal digits.
  private mutating func unit() -> UInt32? {
    let digits = bytes[place...].prefix(4)
    place += digits.count
    let isHexadecimal = digits.allSatisfy {
      switch $0 {
      case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
      default: false
      }
    }
    return digits.count == 4 && isHexadecimal
      ? UInt32(String(decoding: digits, as: UTF8.self), radix: 16) : nil
  }
}
