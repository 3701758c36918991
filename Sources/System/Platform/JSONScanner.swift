/// Parses the output of ``JSONWriter``.
struct JSONScanner {
  private let bytes: [UInt8]
  private var place = 0

  init(_ json: String) {
    bytes = Array(json.utf8)
  }

  /// Whether only space follows.
  var isAtEnd: Bool { bytes[place...].allSatisfy(Self.isSpace) }

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

  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    _ = skip { !Self.isSpace($0) }
    guard place < bytes.count, bytes[place] == UInt8(ascii: scalar) else { return false }
    place += 1
    return true
  }

  /// The text up to the next comma, bracket, brace or space: a number, `true`, `false` or `null`.
  mutating func word() -> String {
    _ = skip { !Self.isSpace($0) }
    let word = skip {
      Self.isSpace($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}")
    }
    return String(decoding: word, as: UTF8.self)
  }

  /// The rest of a string whose opening quote has been read (RFC 8259, section 7).
  mutating func string() -> String? {
    var text = ""
    while true {
      let piece = skip { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
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
    case UInt8(ascii: "u"):
      let digits = bytes[place...].prefix(4)
      place += digits.count
      let text = String(decoding: digits, as: UTF8.self)
      return digits.count == 4 ? UInt32(text, radix: 16).flatMap(Unicode.Scalar.init) : nil
    case let other?: return other < 0x80 ? Unicode.Scalar(other) : nil
    case nil: return nil
    }
  }
}
