/// Writes texts as a person would write them in a file.
enum YAMLText {
  /// A text, quoted if it would otherwise be read as something else.
  static func text(_ text: String) -> String {
    if isPlain(text) && !words.contains(text.lowercased()) && Double(text) == nil { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      default:
        if isShown(scalar) {
          quoted.unicodeScalars.append(scalar)
        } else {
          let digits = String(scalar.value, radix: 16)
          quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
      }
    }
    return quoted + "\""
  }

  /// Words that some YAML readers take for other values than text.
  private static let words: Set = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]

  /// Whether the character is visible as it is.
  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }

  /// Whether the text has no characters that are special in YAML.
  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.utf8.first, isLetter(first) || first == UInt8(ascii: "/"), text.utf8.last != 0x20
    else {
      return false
    }
    return text.utf8.allSatisfy { isLetter($0) || "-_./+ ()".utf8.contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
