import Foundation

/// Judges whether a message on standard error tells the user what it is about, what is wrong, and what to do.
enum MessageJudge {
  /// The most lines that are read.
  static let lineLimit = 40

  /// The faults of a message, in a few words each.
  ///
  /// - Parameters:
  ///   - code: the exit code of the command.
  ///   - output: the standard output. With exit code 1 the reason may be there: the findings of `verify`,
  ///     the result of a case.
  static func faults(of message: String, code: Int32, output: String) -> [String] {
    var faults = form(of: message)
    if code == 0 { return faults }
    let lines = message.split(separator: "\n").map(String.init).filter { !$0.hasPrefix(" ") }
    if lines.isEmpty {
      if code != 1 || output.isEmpty { faults.append("says nothing") }
      return faults
    }
    // With exit code 1 there may be several messages, each complete by itself.
    if !lines.contains(where: isWhole) { faults.append("names no thing, reason and next step") }
    for line in lines where isBare(line) { faults.append("ends in a bare system text: \(line.prefix(200))") }
    if code == 70 && !lines.contains(where: isInternal) {
      faults.append("calls internal what is neither a damaged ledger nor a system error")
    }
    return faults
  }

  // MARK: Form

  private static func form(of message: String) -> [String] {
    var faults: [String] = []
    if message.contains("\u{FFFD}") { faults.append("is not UTF-8") }
    let control = message.unicodeScalars.first {
      ($0.value < 0x20 && $0 != "\n") || 0x7F...0x9F ~= $0.value || 0x202A...0x202E ~= $0.value
    }
    if let control { faults.append("has the control character \(String(control.value, radix: 16))") }
    if !message.isEmpty && !message.hasSuffix("\n") { faults.append("ends within a line") }
    let lines = message.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    if lines.count > lineLimit { faults.append("has \(lines.count) lines") }
    for line in lines where !hasForm(String(line)) {
      faults.append("has a line that is not the program's: \(line.prefix(200))")
      break
    }
    if let long = lines.first(where: { $0.utf8.count > 12_000 }) {
      faults.append("has a line of \(long.utf8.count) bytes")
    }
    return faults
  }

  /// The program's name, the place in a file, or a continuation of the line before.
  private static func hasForm(_ line: String) -> Bool {
    line.hasPrefix("sluice: ") || line.hasPrefix("  ") || isDiagnostic(line)
  }

  private static func isDiagnostic(_ line: String) -> Bool {
    line.range(of: #"^[^:]+:[0-9]+:[0-9]+: ."#, options: .regularExpression) != nil
  }

  // MARK: Content

  /// Messages whose reason is also the next step, or whose next step does not follow a semicolon.
  private static let known = [
    "needs (a|an|one|one of)[ :]", "takes (no|one) ", "takes one FILE",
    "is (a|one of|from|text or|0 or) .*, not ",
    "has 1 to [0-9]+ bytes", "^sluice: give .*, not both", "unknown (command|option) ", "did you mean '",
    "lists them\\)$",
    "is found in /", "has no .*, nor has any of", ": run the same command again",
  ]

  private static func isWhole(_ line: String) -> Bool {
    if isDiagnostic(line) { return true }
    let text = line.hasPrefix("sluice: ") ? String(line.dropFirst(8)) : line
    if known.contains(where: { line.range(of: $0, options: .regularExpression) != nil }) { return true }
    // A subject and its reason, and after a semicolon the next step.
    guard let mark = text.range(of: "; ", options: .backwards) else { return false }
    let told = text[..<mark.lowerBound]
    let step = text[mark.upperBound...]
    let hasReason =
      told.contains(": ")
      || told.range(
        of: #"\b(is|are|has|have|was|were|cannot|does|needs|begins?)\b"#, options: .regularExpression) != nil
    return hasReason && told.split(separator: " ").count >= 3 && step.split(separator: " ").count >= 2
  }

  /// Whether the line ends with a text of strerror(3).
  private static func isBare(_ line: String) -> Bool {
    systemTexts.contains { line.hasSuffix(": " + $0) || line.hasSuffix("= " + $0) }
  }

  private static let systemTexts: [String] =
    (1...133).map { String(cString: strerror($0)) }
    + [
      "unable to open database file", "disk I/O error", "attempt to write a readonly database",
      "out of memory",
    ]

  private static func isInternal(_ line: String) -> Bool {
    line.contains("sluice.db") || systemTexts.contains(where: line.contains)
      || line.range(of: "worker|pages|digest", options: .regularExpression) != nil
  }
}
