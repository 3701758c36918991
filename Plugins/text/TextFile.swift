import Charsets
import StageKit

/// The beginning of a file's text.
struct TextFile {
  let charset: Charset
  private(set) var excerpt: Excerpt

  /// `nil`: it is not sure in which encoding it is.
  ///
  /// - Parameter isCut: more bytes follow.
  init?(
    _ bytes: UnsafeRawBufferPointer, _ converters: Converters, declared: String? = nil,
    isMarkup: Bool = false, maxBytes: Int,
    isCut: Bool
  ) {
    guard
      let found = Detection(converters).detect(
        bytes, declared: declared, isMarkup: isMarkup, isCut: isCut),
      let (text, _) = converters.utf8(UnsafeRawBufferPointer(rebasing: bytes[found.mark...]), found.charset)
    else { return nil }
    charset = found.charset
    excerpt = Excerpt(limit: maxBytes)
    // The last character may be cut.
    let end = isCut && text.suffix(3).elementsEqual("\u{FFFD}".utf8) ? 3 : 0
    var rest = text.dropLast(end).makeIterator()
    excerpt.append(utf8: &rest)
    if isCut { excerpt.truncate() }
  }
}
