// By bytes, as URLs are read: to Swift, `/` with a combining mark after it is another character.
extension Redaction {
  /// Stands for what was left out.
  private static let rest = Array("…".utf8)
  private static let mark = Array("://".utf8)

  /// A URL without all that may be secret: `https://u:p@h.example/a/b?c=d` becomes `https://h.example/…`.
  ///
  /// Where it is not clear which part is the host, that is left out as well; what is no URL becomes `…`.
  public static func url(_ text: String) -> String {
    var bytes = Array(text.utf8)[...]
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    return String(decoding: reduced(bytes.drop { $0 <= 0x20 }), as: UTF8.self)
  }

  private static func reduced(_ url: ArraySlice<UInt8>) -> [UInt8] {
    guard let start = place(of: mark, in: url), isScheme(url[..<start]) else { return rest }
    let scheme = url[..<(start + mark.count)]
    let after = url[(start + mark.count)...]
    let end = after.firstIndex { among("/?#\\", $0) } ?? after.endIndex
    let tail = after[end...]
    // The last one: a careless program leaves one in the password.
    let at = after[..<end].lastIndex(of: UInt8(ascii: "@"))
    let host = at.map { after[($0 + 1)..<end] } ?? after[..<end]
    guard isHost(host) else { return scheme + rest }
    // `https://user:12/34@host/`: the password has a slash, and what looks like the host is the user.
    if at == nil, tail.contains(UInt8(ascii: "@")),
      host.contains(UInt8(ascii: ":")) || !host.contains(UInt8(ascii: "."))
    {
      return scheme + rest
    }
    let slash = [UInt8(ascii: "/")]
    return scheme + host + (tail.isEmpty ? [] : tail == slash[...] ? slash : slash + rest)
  }

  /// The text with each URL in it reduced.
  static func urls(in text: String) -> String {
    let bytes = Array(text.utf8)
    guard var found = place(of: mark, in: bytes[...]) else { return text }
    var shown: [UInt8] = []
    var from = bytes.startIndex
    while true {
      var start = found
      while start > from, isSchemePart(bytes[start - 1]) { start -= 1 }
      let body = found + mark.count
      var end = bytes[body...].firstIndex { $0 <= 0x20 || among("<>\"", $0) } ?? bytes.endIndex
      // What ends the sentence is no part of the URL.
      while end > body, among(".,;:!?)'", bytes[end - 1]) { end -= 1 }
      shown += bytes[from..<start]
      shown += reduced(bytes[start..<end])
      from = end
      guard let next = place(of: mark, in: bytes[from...]) else { break }
      found = next
    }
    return String(decoding: shown + bytes[from...], as: UTF8.self)
  }

  private static func place(of sought: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.indices.first { bytes[$0...].starts(with: sought) }
  }

  private static func among(_ characters: StaticString, _ byte: UInt8) -> Bool {
    characters.withUTF8Buffer { $0.contains(byte) }
  }

  private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.first.map { isAlphanumeric($0) && !isDigit($0) } ?? false && bytes.allSatisfy(isSchemePart)
  }

  private static func isSchemePart(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || among("+-.", byte) }

  /// Whether this is a name or an address, with or without a port, and nothing that could be a secret.
  private static func isHost(_ bytes: ArraySlice<UInt8>) -> Bool {
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return false }
      return isPort(bytes[(end + 1)...])
        && bytes[..<end].dropFirst().allSatisfy { isAlphanumeric($0) || among(":.%-_", $0) }
    }
    let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    let name = bytes[..<colon]
    // Names in other scripts have bytes beyond ASCII.
    return !name.isEmpty && isPort(bytes[colon...])
      && name.allSatisfy { isAlphanumeric($0) || among("-._", $0) || $0 >= 0x80 }
  }

  private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.isEmpty
      || bytes.first == UInt8(ascii: ":") && bytes.count <= 6 && bytes.dropFirst().allSatisfy(isDigit)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
