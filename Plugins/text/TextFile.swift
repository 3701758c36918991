import StageKit

/// The beginning of a file's text.
struct TextFile {
  let encoding: TextEncoding
  private(set) var excerpt: Excerpt

  /// Reads at most four times as many bytes as text is wanted: a character takes at most four bytes, and the
  /// file may be anything, such as a disk image of zeros declared as text.
  init(_ attachment: Attachment, _ reader: ByteReader, maxBytes: Int) throws(Outcome) {
    let end = min(attachment.size, Int64(maxBytes) * 4)
    reader.start(attachment, 0..<end)
    let (encoding, mark) = TextEncoding.detect(reader)
    if let failure = reader.failure { throw failure }
    self.encoding = encoding
    excerpt = Excerpt(limit: maxBytes)
    reader.start(attachment, Int64(mark)..<end)
    excerpt.append(reader, as: encoding)
    if let failure = reader.failure { throw failure }
    if end < attachment.size { excerpt.truncate() }
  }
}

extension Excerpt {
  fileprivate mutating func append(_ reader: ByteReader, as encoding: TextEncoding) {
    var reader = reader
    switch encoding {
    case .utf8: append(utf8: &reader)
    case .utf16LittleEndian: append(utf16: UTF16Units(bytes: reader, isBigEndian: false))
    case .utf16BigEndian: append(utf16: UTF16Units(bytes: reader, isBigEndian: true))
    case .windows1252:
      while !isTruncated, let byte = reader.next() { append(Windows1252.scalar(byte)) }
    }
  }

  private mutating func append(utf16 units: UTF16Units) {
    var units = units
    var parser = Unicode.UTF16.ForwardParser()
    while !isTruncated {
      switch parser.parseScalar(from: &units) {
      case .valid(let pair): append(Unicode.UTF16.decode(pair))
      case .error: append("\u{FFFD}")
      case .emptyInput: return
      }
    }
  }
}
