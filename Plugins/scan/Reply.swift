/// clamd's reply to `INSTREAM`.
///
/// "stream: OK", "stream: NAME FOUND", "INSTREAM size limit exceeded. ERROR", "… ERROR" (clamd(8)),
/// terminated by NUL if the command was.
enum Reply: Equatable {
  case clean
  /// Infected, with the name of the signature.
  case found(String)
  /// Not scanned completely, because of this limit.
  case notScanned(String)
  case error(String)
  /// None of the known replies.
  case nonsense

  /// Parses everything that clamd sent until it closed the connection.
  init(_ bytes: [UInt8]) {
    guard let text = Self.text(bytes) else {
      self = .nonsense
      return
    }
    if text == "stream: OK" {
      self = .clean
    } else if let name = Self.middle(of: text, from: "stream: ", to: " FOUND") {
      // With `AlertExceedsMax`, clamd reports skipped content in this way.
      self = name.hasPrefix("Heuristics.Limits.Exceeded") ? .notScanned(name) : .found(name)
    } else if text == "INSTREAM size limit exceeded. ERROR" {
      self = .notScanned("StreamMaxLength")
    } else if let reason = Self.middle(of: text, from: "", to: " ERROR") {
      self = .error(reason)
    } else {
      self = .nonsense
    }
  }

  /// A single line terminated by NUL, as printable text; `nil`: there is no such line.
  static func text(_ bytes: [UInt8]) -> String? {
    guard bytes.count > 1, bytes.firstIndex(of: 0) == bytes.count - 1 else { return nil }
    let printable = bytes.dropLast().map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }
    return String(decoding: printable, as: UTF8.self)
  }

  /// The text between two markers, at most 200 characters of it; `nil`: there is none.
  private static func middle(of text: String, from start: String, to end: String) -> String? {
    guard text.hasPrefix(start), text.hasSuffix(end), text.count > start.count + end.count else { return nil }
    let middle = text.dropFirst(start.count).dropLast(end.count)
    return middle.count <= 200 ? String(middle) : String(middle.prefix(197)) + "..."
  }
}
