/// Bytes as hexadecimal digits.
public enum Hexadecimal {
  /// Two lower-case digits for each byte.
  public static func text(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
      for (index, byte) in bytes.enumerated() {
        buffer[index * 2] = digit(byte >> 4)
        buffer[index * 2 + 1] = digit(byte & 15)
      }
      return bytes.count * 2
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
  }

  /// The bytes; `nil` if the text is anything but pairs of digits.
  public static func bytes(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { digits in
      guard digits.count % 2 == 0 else { return nil }
      var isValid = true
      let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { buffer, count in
        for index in 0..<digits.count / 2 {
          guard let high = value(digits[index * 2]), let low = value(digits[index * 2 + 1]) else {
            return isValid = false
          }
          buffer[index] = high << 4 | low
          count = index + 1
        }
      }
      return isValid ? bytes : nil
    }
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
