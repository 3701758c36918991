/// What HTML and XML say of their encoding.
enum Markup {
  /// Bytes of HTML in which a browser looks (the HTML Standard, "determining the character encoding").
  private static let longest = 1024

  /// The label that a document declares at its beginning; `nil`: it declares none. It is in ASCII up to there.
  static func label(in bytes: UnsafeRawBufferPointer) -> String? {
    let start = String(decoding: bytes.prefix(longest).map { $0 < 0x80 ? $0 : 0x3F }, as: UTF8.self)
      .lowercased()
    guard
      let label = (start.hasPrefix("<?xml") ? value(of: "encoding", in: start.prefix { $0 != ">" }) : nil)
        ?? meta(start)
    else { return nil }
    // It was read as ASCII, so that it is not this.
    return label.hasPrefix("utf-16") ? "utf-8" : label
  }

  private static func meta(_ text: String) -> String? {
    var rest = text[...]
    while let behind = end(of: "<meta", in: rest) {
      rest = rest[behind...]
      if let label = value(of: "charset", in: rest.prefix { $0 != ">" }) { return label }
    }
    return nil
  }

  /// What follows a name and `=`, with or without quotes.
  private static func value(of name: String, in text: Substring) -> String? {
    guard let behind = end(of: name, in: text) else { return nil }
    let rest = text[behind...].drop { $0.isWhitespace }
    guard rest.first == "=" else { return nil }
    let value = rest.dropFirst().drop { $0.isWhitespace || $0 == "\"" || $0 == "'" }
      .prefix { !$0.isWhitespace && !"\"';/>?".contains($0) }
    return value.isEmpty ? nil : String(value)
  }

  /// Where the first of some words ends in a text; `nil`: it is not there. The library's own search links a library of its own.
  private static func end(of word: String, in text: Substring) -> Substring.Index? {
    text.indices.first { text[$0...].hasPrefix(word) }.map { text.index($0, offsetBy: word.count) }
  }
}
