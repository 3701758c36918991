/// Values as a person would write them in a file, in braces and brackets.
public enum YAMLText {
  /// A text, in quotes where it would otherwise be read as something else.
  public static func text(_ text: String) -> String {
    if isPlain(text) && !["true", "false", "null", "yes", "no", "on", "off", "~"].contains(text.lowercased())
      && Double(text) == nil
    {
      return text
    }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      default:
        let isShown: Bool =
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
            false
          default: true
          }
        if isShown {
          quoted.unicodeScalars.append(scalar)
        } else {
          let digits = String(scalar.value, radix: 16)
          quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
      }
    }
    return quoted + "\""
  }

  /// Letters that mean nothing to YAML wherever they stand.
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

  /// A map in braces.
  public static func map(_ entries: [(key: String, value: String)]) -> String {
    entries.isEmpty ? "{}" : "{ \(entries.map { "\(text($0.key)): \($0.value)" }.joined(separator: ", ")) }"
  }

  public static func list(_ items: [String]) -> String { "[\(items.joined(separator: ", "))]" }

  static func node(_ node: Node) -> String {
    switch node.content {
    case .scalar(let scalar): scalar.isPlain ? scalar.text : text(scalar.text)
    case .sequence(let items): list(items.map { Self.node($0) })
    case .mapping(let entries): map(entries.map { ($0.key.text, Self.node($0.value)) })
    case .unusable: "null"
    }
  }
}
