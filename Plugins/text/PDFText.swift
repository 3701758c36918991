import PDFDocument

/// The text of the first pages of a PDF, and of the annotations and form fields on them.
struct PDFText {
  private(set) var excerpt: Excerpt
  /// The number of pages with text.
  private(set) var pages = 0
  private var endsLine = false

  /// Throws `damaged` if no page loads.
  init(_ bytes: UnsafeRawBufferPointer, maxPages: Int, maxBytes: Int) throws(Document.Refusal) {
    let document = try Document(bytes)
    excerpt = Excerpt(limit: maxBytes)
    let count = document.pageCount
    var loaded = 0
    var tried = 0
    while tried < min(count, maxPages), !excerpt.isTruncated {
      let before = excerpt.characters
      endsLine = true
      if document.readText(ofPage: tried, { append($0) }) { loaded += 1 }
      if excerpt.characters > before { pages += 1 }
      tried += 1
    }
    if loaded == 0 { throw .damaged(tried == 0 ? "it has no pages" : "its pages do not load") }
    if loaded < count { excerpt.truncate() }
  }

  /// Appends the lines, except empty lines.
  ///
  /// Poppler puts marks around right-to-left text. The text is in reading order already, and needs no marks.
  private mutating func append(_ lines: UnsafeRawBufferPointer) {
    var bytes = lines.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    while !excerpt.isTruncated {
      let scalar: Unicode.Scalar
      switch parser.parseScalar(from: &bytes) {
      case .valid(let units): scalar = Unicode.UTF8.decode(units)
      case .error: scalar = "\u{FFFD}"
      case .emptyInput: return
      }
      switch scalar {
      case "\n": endsLine = true
      case "\u{202A}"..."\u{202E}": continue
      default:
        if endsLine { excerpt.breakLine() }
        endsLine = false
        excerpt.append(scalar)
      }
    }
  }
}

extension Excerpt {
  /// Appends UTF-8; invalid bytes become U+FFFD.
  mutating func append(utf8 bytes: UnsafeRawBufferPointer) {
    var bytes = bytes.makeIterator()
    append(utf8: &bytes)
  }

  /// Stops reading when there is no more room.
  mutating func append(utf8 bytes: inout some IteratorProtocol<UInt8>) {
    var parser = Unicode.UTF8.ForwardParser()
    while !isTruncated {
      switch parser.parseScalar(from: &bytes) {
      case .valid(let units): append(Unicode.UTF8.decode(units))
      case .error: append("\u{FFFD}")
      case .emptyInput: return
      }
    }
  }
}
