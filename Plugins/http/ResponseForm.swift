/// Where the content is in an answer.
enum ResponseForm: Equatable {
  /// The body is the content.
  case body
  /// The body is Base64 of the content.
  case base64
  /// The body is JSON, and the string at this place in it is Base64 of the content. The parts of an RFC 6901 pointer.
  case json([[UInt8]])

  /// The longest path into JSON.
  static let depth = 16

  init?(_ text: String) {
    switch text {
    case "body": self = .body
    case "base64": self = .base64
    default:
      guard text.hasPrefix("json:") else { return nil }
      let pointer = text.dropFirst(5)
      guard pointer.isEmpty || pointer.hasPrefix("/") else { return nil }
      var parts: [[UInt8]] = []
      for part in pointer.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .dropFirst()
      {
        guard let part = Self.unescaped(part) else { return nil }
        parts.append(part)
      }
      guard parts.count <= Self.depth else { return nil }
      self = .json(parts)
    }
  }

  /// `~1` is a slash and `~0` a tilde; nothing else follows a tilde.
  private static func unescaped(_ part: Substring.UTF8View) -> [UInt8]? {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in part {
      switch (isEscaped, byte) {
      case (true, UInt8(ascii: "0")): bytes.append(UInt8(ascii: "~"))
      case (true, UInt8(ascii: "1")): bytes.append(UInt8(ascii: "/"))
      case (true, _): return nil
      case (false, UInt8(ascii: "~")): break
      case (false, _): bytes.append(byte)
      }
      isEscaped = !isEscaped && byte == UInt8(ascii: "~")
    }
    return isEscaped ? nil : bytes
  }
}
