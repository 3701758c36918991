/// Lines of CSV as RFC 4180 has them, harmless where a spreadsheet opens them.
enum CSV {
  enum Cell {
    case text(String?)
    /// Digits of this program's, as they are.
    case number(String?)
  }

  static func line(_ cells: [Cell]) -> String {
    cells.map { cell in
      switch cell {
      case .text(let text): text.map(escaped) ?? ""
      case .number(let number): number ?? ""
      }
    }.joined(separator: ",") + "\r\n"
  }

  /// A text with quotes where it needs them. One that a spreadsheet would take for a formula, or for something other than text,
  /// gets an apostrophe before it: it begins with `=`, `+`, `-`, `@` or one of their wide forms, or with a control character.
  private static func escaped(_ text: String) -> String {
    let safe = beginsBadly(text) ? "'" + text : text
    let needsQuotes = safe.unicodeScalars.contains { scalar in
      scalar == "," || scalar == ";" || scalar == "\"" || scalar.value < 0x20
    }
    guard needsQuotes || safe.hasPrefix(" ") || safe.hasSuffix(" ") else { return safe }
    return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  private static func beginsBadly(_ text: String) -> Bool {
    // A space before it does not keep a formula from being one.
    guard let first = text.unicodeScalars.first(where: { $0 != " " && $0 != "\u{A0}" }) else { return false }
    switch first {
    case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}": return true
    default: return first.value < 0x20 || (0x7F...0x9F).contains(first.value)
    }
  }
}
