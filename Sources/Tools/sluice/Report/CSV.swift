/// CSV as RFC 4180 has it, harmless where a spreadsheet opens it. Cells are added one after the other.
struct CSV {
  private(set) var bytes: [UInt8] = []
  private var isLineBegun = false

  mutating func clear() { bytes.removeAll(keepingCapacity: true) }

  mutating func endLine() {
    bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    isLineBegun = false
  }

  private mutating func beginCell() {
    if isLineBegun { bytes.append(UInt8(ascii: ",")) }
    isLineBegun = true
  }

  /// Adds a text; `nil`: a cell that is empty.
  mutating func add(_ text: String?) {
    guard var text else { return beginCell() }
    text.withUTF8 { add(text: $0) }
  }

  mutating func add(text: UnsafeBufferPointer<UInt8>) {
    beginCell()
    if Self.isPlain(text) {
      bytes.append(contentsOf: text)
    } else {
      bytes += Self.escaped(String(decoding: text, as: UTF8.self)).utf8
    }
  }

  /// Adds digits of this program's, as they are.
  mutating func add(number: UnsafeBufferPointer<UInt8>) {
    beginCell()
    bytes.append(contentsOf: number)
  }

  mutating func add(number: String?) {
    guard var number else { return beginCell() }
    number.withUTF8 { add(number: $0) }
  }

  /// Whether ``escaped(_:)`` leaves a text as it is. What begins with another character than those of ASCII is left to that.
  private static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = text.first, let last = text.last else { return true }
    if first <= 0x20 || first >= 0x7F || "=+-@".utf8.contains(first) || last == 0x20 { return false }
    return text.allSatisfy { byte in
      byte >= 0x20 && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ";") && byte != UInt8(ascii: "\"")
    }
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
