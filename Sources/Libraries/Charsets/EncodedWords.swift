/// Text of a header's field with the words in it decoded that say their charset (RFC 2047), as programs write them.
///
/// By hand, since GMime 3.2.13 loses what follows a word whose base64 ends with padding, and a file's name loses its ending with that.
public struct EncodedWords {
  private let converters: Converters

  public init(_ converters: Converters) { self.converters = converters }

  private struct Word {
    var label: String
    var bytes: [UInt8]
  }

  private static let (equals, question): (UInt8, UInt8) = (UInt8(ascii: "="), UInt8(ascii: "?"))

  /// The body of a field as text: unfolded, its words decoded, what is no character as U+FFFD.
  ///
  /// Blanks between two words are left out. The bytes of neighbours with one charset are decoded together: programs cut words
  /// between the bytes of a character.
  public func decoded(_ body: some Collection<UInt8>) -> String {
    let body = Self.unfolded(body)
    var text: [UInt8] = []
    var words: [Word] = []
    var plain = 0..<0
    var index = 0
    func flush() {
      text += joined(words)
      words = []
    }
    while index < body.count {
      if let (word, end) = Self.word(in: body, at: index) {
        let between = body[plain.lowerBound..<index]
        if !words.isEmpty,
          !between.allSatisfy(Self.isBlank) || words.last.map({ $0.label != word.label }) == true
        {
          flush()
          if !between.allSatisfy(Self.isBlank) { text += utf8(between) }
        } else if words.isEmpty {
          text += utf8(between)
        }
        words.append(word)
        (index, plain) = (end, end..<end)
      } else {
        index += 1
      }
    }
    flush()
    text += utf8(body[plain.lowerBound...])
    return String(decoding: text, as: UTF8.self)
  }

  /// Text that came with a label, such as a parameter's (RFC 2231). Without one that is known: UTF-8 where it can be, or else
  /// Windows-1252.
  public func text(_ bytes: [UInt8], label: String?) -> String {
    String(decoding: utf8(bytes[...], label), as: UTF8.self)
  }

  /// A line's end with the blank that follows it is that blank (RFC 5322, 2.2.3); a tab is a space.
  public static func unfolded(_ body: some Collection<UInt8>) -> [UInt8] {
    body.filter { $0 != 0x0D && $0 != 0x0A }.map { $0 == 0x09 ? 0x20 : $0 }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private func joined(_ words: [Word]) -> [UInt8] {
    guard let first = words.first else { return [] }
    let all = words.flatMap(\.bytes)
    // A charset that shifts begins anew in each word, and its programs know that.
    if first.label.lowercased().hasPrefix("iso-2022") {
      return words.flatMap { utf8($0.bytes[...], $0.label) }
    }
    return utf8(all[...], first.label)
  }

  private func utf8(_ bytes: ArraySlice<UInt8>, _ label: String? = nil) -> [UInt8] {
    if bytes.isEmpty { return [] }
    let charset = label.flatMap(Charset.init(label:)) ?? .utf8
    return Array(bytes).withUnsafeBytes { bytes in
      if charset == .utf8 || charset == .windows1252 {
        if String(validating: bytes, as: UTF8.self) != nil { return Array(bytes) }
        // Cut in the midst of a character it is what it says.
        let repaired = converters.utf8(bytes, .utf8)
        if charset == .utf8, label != nil, let repaired, repaired.faults <= 1 { return repaired.text }
        return converters.utf8(bytes, .windows1252)?.text ?? repaired?.text ?? []
      }
      return converters.utf8(bytes, charset)?.text ?? []
    }
  }

  /// The word that begins at a place, and where it ends; `nil`: none does. Blanks in it are taken, as other programs do: they are no part
  /// of base64, and stand for themselves in the other encoding.
  private static func word(in body: [UInt8], at start: Int) -> (Word, Int)? {
    guard start + 1 < body.count, body[start] == equals, body[start + 1] == question else { return nil }
    var place = start + 2
    guard let labelEnd = body[place...].prefix(80).firstIndex(of: question), labelEnd > place else {
      return nil
    }
    // A language may follow (RFC 2231, section 5).
    let label = body[place..<labelEnd].prefix { $0 != UInt8(ascii: "*") }
    guard label.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
    place = labelEnd + 1
    guard place + 1 < body.count, body[place + 1] == question else { return nil }
    let encoding = body[place] | 0x20
    place += 2
    var end = place
    while end + 1 < body.count, !(body[end] == question && body[end + 1] == equals) { end += 1 }
    guard end + 1 < body.count else { return nil }
    let text = body[place..<end]
    let bytes: [UInt8]
    switch encoding {
    case UInt8(ascii: "b"): bytes = base64(text)
    case UInt8(ascii: "q"): bytes = quoted(text)
    default: return nil
    }
    return (Word(label: String(decoding: label, as: UTF8.self), bytes: bytes), end + 2)
  }

  /// What is no digit is passed over, padding too.
  static func base64(_ text: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    for byte in text {
      let value: UInt32
      switch byte {
      case 0x41...0x5A: value = UInt32(byte) - 0x41
      case 0x61...0x7A: value = UInt32(byte) - 0x61 + 26
      case 0x30...0x39: value = UInt32(byte) - 0x30 + 52
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      case equals:
        // The next digits begin anew.
        (bits, count) = (0, 0)
        continue
      default: continue
      }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }

  private static func quoted(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
      let byte = text[index]
      if byte == equals, index + 2 < text.endIndex, let high = digit(text[index + 1]),
        let low = digit(text[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        bytes.append(byte == UInt8(ascii: "_") ? 0x20 : byte)
        index += 1
      }
    }
    return bytes
  }

  /// The value of a hexadecimal digit; `nil`: it is none.
  public static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
