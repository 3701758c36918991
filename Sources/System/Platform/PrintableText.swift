/// Text from outside, made safe for a terminal.
public enum PrintableText {
  /// Replaces control characters and bidirectional formatting characters by escapes, so that no file name can
  /// move the cursor or look like another name.
  public static func of(_ text: String) -> String {
    // The common case: this check costs a hundredth of rebuilding the text.
    if text.utf8.allSatisfy({ 0x20 <= $0 && $0 < 0x7F }) { return text }
    var safe = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF:
        safe.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      default: safe.append(scalar)
      }
    }
    return String(safe)
  }
}
