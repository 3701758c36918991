/// Base64 (RFC 4648, section 4); white space is ignored.
public enum Base64 {
  /// The decoded bytes; `nil`: the text is not Base64.
  public static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var letters = 0
    var padding = 0
    for letter in text.utf8 {
      if letter == 0x20 || (0x09...0x0D).contains(letter) { continue }
      if letter == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(of: letter) else { return nil }
      bits = bits << 6 | value
      letters += 1
      if letters % 4 == 0 {
        bytes += [UInt8(bits >> 16 & 0xFF), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
      }
    }
    guard (letters + padding) % 4 == 0, padding <= 2 else { return nil }
    switch letters % 4 {
    case 0: return padding == 0 ? bytes : nil
    case 2: return bytes + [UInt8(bits >> 4 & 0xFF)]
    case 3: return bytes + [UInt8(bits >> 10 & 0xFF), UInt8(bits >> 2 & 0xFF)]
    default: return nil
    }
  }

  /// Bytes as text, with padding.
  public static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.withUnsafeBytes { letters(of: $0) }, as: UTF8.self)
  }

  /// Bytes as the ASCII letters of ``text(_:)``.
  public static func letters(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length(of: bytes.count)) { text, count in
      var place = 0
      func add(_ bits: UInt32, _ letters: Int) {
        for letter in 0..<4 {
          text[place] =
            letter < letters ? Self.letters[Int(bits >> UInt32(18 - 6 * letter) & 63)] : UInt8(ascii: "=")
          place += 1
        }
      }
      var start = 0
      while start + 3 <= bytes.count {
        add(UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]), 4)
        start += 3
      }
      switch bytes.count - start {
      case 1: add(UInt32(bytes[start]) << 16, 2)
      case 2: add(UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8, 3)
      default: break
      }
      count = place
    }
  }

  /// Letters that stand for so many bytes.
  public static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
