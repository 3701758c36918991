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
