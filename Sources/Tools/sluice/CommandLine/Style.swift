import Glibc

/// Color for the few words that carry the meaning, used only on a terminal (https://no-color.org).
struct Style {
  /// For output that is not for a terminal.
  static let plain = Style(isColored: false)

  private let isColored: Bool

  init(_ arguments: ParsedArguments) {
    let variables = Environment.variables
    isColored =
      Terminal.isTerminal(STDOUT_FILENO) && !arguments.flag("no-color")
      && variables["NO_COLOR", default: ""].isEmpty && variables["TERM"] != "dumb"
  }

  private init(isColored: Bool) {
    self.isColored = isColored
  }

  /// A verdict, a status or another word that is good or bad, padded to a width.
  func word(_ word: String, width: Int = 0) -> String {
    let padded = Help.pad(word, width)
    guard isColored, let color = Self.color(of: word) else { return padded }
    return "\u{1B}[\(color)m\(word)\u{1B}[0m" + padded.dropFirst(word.count)
  }

  /// Dimmed, for less important text.
  func bold(_ text: String) -> String { isColored ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

  func faint(_ text: String) -> String { isColored ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

  private static func color(of word: String) -> Int? {
    switch word {
    case "pass", "completed", "clean", "delivered", "ok", "mended": 32
    case "reject", "rejected", "unknown", "retry", "paused", "missing": 33
    case "fail", "failed", "found", "quarantined", "crashed", "timed-out", "over-limit", "dead", "wrong": 31
    default: nil
    }
  }
}
