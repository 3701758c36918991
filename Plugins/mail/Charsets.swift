import Charsets
import Glibc

/// What reads text of mails. glibc loads a converter from a file when it is first wanted, which the sandbox would not allow, and GMime asks for
/// any that a header names. So all are loaded before, and stay: 10 MB, a tenth of a second.
final class Charsets {
  private let loaded: [iconv_t]
  let converters = Converters()
  /// Decodes headers and names.
  let words: EncodedWords

  init() {
    words = EncodedWords(converters)
    loaded = Self.names.split(separator: " ").compactMap { Self.converter(String($0)) }
  }

  deinit {
    for converter in loaded { iconv_close(converter) }
  }

  private static func converter(_ charset: String) -> iconv_t? {
    guard let converter = iconv_open("UTF-8", charset), Int(bitPattern: converter) != -1 else { return nil }
    return converter
  }

  /// A text as UTF-8; what is wrong in it becomes U+FFFD. `nil`: the charset is not known.
  ///
  /// Without a label, and for the labels that programs write without a look at the text, it is UTF-8 where it can be, or what it looks
  /// like, and Windows-1252 otherwise, in which each byte has a meaning.
  ///
  /// - Parameter isMarkup: it is HTML, and may say its charset itself.
  func utf8(_ bytes: UnsafeRawBufferPointer, _ label: String?, isMarkup: Bool = false) -> [UInt8]? {
    let named = label.map { Charset(label: $0) }
    if let charset = named ?? nil, charset == .utf16LittleEndian || charset == .utf16BigEndian {
      // Its mark says which of the two.
      let found = Detection(converters).detect(bytes, declared: label)
      let text = UnsafeRawBufferPointer(rebasing: bytes[(found?.mark ?? 0)...])
      return converters.utf8(text, found?.charset ?? charset)?.text
    }
    if let label, case .some(.none) = named, !Self.unspecific.contains(label.lowercased()) { return nil }
    if let charset = named ?? nil, charset != .utf8, charset != .windows1252 || Self.isLatin(label) {
      if charset != .windows1252 || String(validating: bytes, as: UTF8.self) == nil {
        return converters.utf8(bytes, charset)?.text
      }
    }
    if String(validating: bytes, as: UTF8.self) != nil { return Array(bytes) }
    let found = Detection(converters).detect(bytes, isMarkup: isMarkup)
    return converters.utf8(
      UnsafeRawBufferPointer(rebasing: bytes[(found?.mark ?? 0)...]), found?.charset ?? .windows1252)?.text
  }

  /// Whether a label names Latin letters, and is not what programs write for want of another.
  private static func isLatin(_ label: String?) -> Bool {
    !["us-ascii", "ascii", "ansi_x3.4-1968"].contains(label?.lowercased() ?? "us-ascii")
  }

  private static let unspecific: Set = [
    "unknown-8bit", "8bit", "default", "x-unknown", "unknown", "binary", "",
  ]
}
