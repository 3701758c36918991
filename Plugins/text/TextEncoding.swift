/// The character encoding of a text file.
enum TextEncoding: String {
  case utf8 = "utf-8"
  case utf16LittleEndian = "utf-16le"
  case utf16BigEndian = "utf-16be"
  case windows1252 = "windows-1252"

  /// Detects the encoding from the bytes, and the length of the byte order mark.
  ///
  /// Without a mark, the text is UTF-8 if more of its non-ASCII bytes form valid UTF-8 than not: text in
  /// another encoding rarely contains valid UTF-8 sequences by chance, and UTF-8 text may be damaged in a few
  /// places. Otherwise it is Windows-1252, which includes Latin-1 except for control characters, and which
  /// assigns a character to every byte.
  static func detect(_ reader: ByteReader) -> (encoding: TextEncoding, mark: Int) {
    var bytes = Marked(rest: reader)
    switch (bytes.first, bytes.second, bytes.third) {
    case (0xEF, 0xBB, 0xBF): return (.utf8, 3)
    case (0xFF, 0xFE, _): return (.utf16LittleEndian, 2)
    case (0xFE, 0xFF, _): return (.utf16BigEndian, 2)
    default: return (looksLikeUTF8(&bytes) ? .utf8 : .windows1252, 0)
    }
  }

  private static func looksLikeUTF8(_ bytes: inout Marked) -> Bool {
    var wellFormed = 0
    var illFormed = 0
    var parser = Unicode.UTF8.ForwardParser()
    while true {
      switch parser.parseScalar(from: &bytes) {
      case .valid(let units): if units.count > 1 { wellFormed += 1 }
      case .error: illFormed += 1
      case .emptyInput: return illFormed == 0 || wellFormed > illFormed
      }
    }
  }

  /// Bytes whose first three have been read ahead.
  private struct Marked: IteratorProtocol {
    let first: UInt8?
    let second: UInt8?
    let third: UInt8?
    private var position = 0
    private let rest: ByteReader

    init(rest: ByteReader) {
      first = rest.next()
      second = rest.next()
      third = rest.next()
      self.rest = rest
    }

    mutating func next() -> UInt8? {
      position += 1
      switch position {
      case 1: return first
      case 2: return second
      case 3: return third
      default: return rest.next()
      }
    }
  }
}

/// Pairs of bytes as UTF-16 code units; an incomplete pair at the end is dropped.
struct UTF16Units: IteratorProtocol {
  let bytes: ByteReader
  let isBigEndian: Bool

  mutating func next() -> UInt16? {
    guard let first = bytes.next(), let second = bytes.next() else { return nil }
    return isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first)
  }
}
