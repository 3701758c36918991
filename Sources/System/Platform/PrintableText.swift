/// Text from outside, fit for a terminal.
public enum PrintableText {
  /// Control characters and those that turn the direction of writing are shown as escapes, so that no file name can move
  /// the cursor or pass for another.
  public static func of(_ text: String) -> String {
    // Most names: to look at each byte costs a hundredth of building them anew.
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
