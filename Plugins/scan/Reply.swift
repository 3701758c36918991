/// What clamd answers to `INSTREAM`.
///
/// "stream: OK", "stream: NAME FOUND", "INSTREAM size limit exceeded. ERROR", "… ERROR" (clamd(8)), with a NUL at the end
/// where the command had one.
enum Reply: Equatable {
  case clean
  /// By the signature of this name.
  case found(String)
  /// It did not look at all of it, for this limit.
  case notScanned(String)
  case error(String)
  /// None of these.
  case nonsense

  /// From everything clamd said until it hung up.
  init(_ bytes: [UInt8]) {
    guard let text = Self.text(bytes) else {
      self = .nonsense
      return
    }
    if text == "stream: OK" {
      self = .clean
    } else if let name = Self.middle(of: text, from: "stream: ", to: " FOUND") {
      // With `AlertExceedsMax`, this is how clamd says that a limit let it skip something.
      self = name.hasPrefix("Heuristics.Limits.Exceeded") ? .notScanned(name) : .found(name)
    } else if text == "INSTREAM size limit exceeded. ERROR" {
      self = .notScanned("StreamMaxLength")
    } else if let reason = Self.middle(of: text, from: "", to: " ERROR") {
      self = .error(reason)
    } else {
      self = .nonsense
    }
  }

  /// A line that ends with NUL and has no other, as text that can be shown; `nil`: there is no such line.
  static func text(_ bytes: [UInt8]) -> String? {
    guard bytes.count > 1, bytes.firstIndex(of: 0) == bytes.count - 1 else { return nil }
    let printable = bytes.dropLast().map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }
    return String(decoding: printable, as: UTF8.self)
  }

  /// What stands between, at most 200 characters of it; `nil`: nothing does.
  private static func middle(of text: String, from start: String, to end: String) -> String? {
    guard text.hasPrefix(start), text.hasSuffix(end), text.count > start.count + end.count else { return nil }
    let middle = text.dropFirst(start.count).dropLast(end.count)
    return middle.count <= 200 ? String(middle) : String(middle.prefix(197)) + "..."
  }
}
