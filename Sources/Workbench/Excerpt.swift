import Platform

/// Part of a text on one line, to show a difference.
enum Excerpt {
  private static let before = 60
  private static let longest = 400

  /// The text from shortly before `place`, which counts Unicode scalars; `…` marks omitted text.
  static func text(_ text: String, around place: Int) -> String {
    let scalars = Array(text.unicodeScalars)
    let start = scalars.count <= longest ? 0 : max(0, min(place - before, scalars.count - 1))
    let end = min(start + longest, scalars.count)
    var shown = start > 0 ? "…" : ""
    for scalar in scalars[start..<end] {
      switch scalar {
      case "\n": shown += "\\n"
      case "\r": shown += "\\r"
      case "\t": shown += "\\t"
      case "\0": shown += "\\0"
      default: shown.unicodeScalars.append(scalar)
      }
    }
    if end < scalars.count { shown += "… (\(Count.text(text.utf8.count, "byte")))" }
    // Quote text that would be invisible.
    let isClear = !shown.isEmpty && !shown.hasPrefix(" ") && !shown.hasSuffix(" ")
    return isClear ? shown : "'\(shown)'"
  }

  /// The position of the first difference, in Unicode scalars.
  static func firstDifference(_ one: String, _ other: String) -> Int {
    zip(one.unicodeScalars, other.unicodeScalars).prefix { $0 == $1 }.count
  }
}
