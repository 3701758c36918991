/// Reads what ``JSONWriter`` wrote for an array of texts.
public enum JSONStrings {
  /// The texts; `nil` where it is anything else.
  public static func read(_ json: String) -> [String]? {
    var rest = Substring(json).unicodeScalars
    func skip(_ scalar: Unicode.Scalar) -> Bool {
      while let first = rest.first, first == " " || first == "\n" || first == "\t" || first == "\r" {
        rest.removeFirst()
      }
      guard rest.first == scalar else { return false }
      rest.removeFirst()
      return true
    }
    guard skip("[") else { return nil }
    var texts: [String] = []
    if skip("]") { return texts }
    repeat {
      guard skip("\""), let text = string(&rest) else { return nil }
      texts.append(text)
    } while skip(",")
    return skip("]") ? texts : nil
  }

  /// The rest of a string whose opening quote has been read (RFC 8259, section 7).
  private static func string(_ rest: inout Substring.UnicodeScalarView) -> String? {
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
