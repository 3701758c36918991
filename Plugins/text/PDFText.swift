import PDFDocument

/// The text of the first pages of a PDF.
struct PDFText {
  private(set) var excerpt: Excerpt
  /// The number of pages with text.
  private(set) var pages = 0

  init(_ bytes: UnsafeRawBufferPointer, maxPages: Int, maxBytes: Int) throws(Document.Refusal) {
    let document = try Document(bytes)
    excerpt = Excerpt(limit: maxBytes)
    // The document claims its number of pages: it may be any number, and some pages may not load.
    let count = document.pageCount
    for index in 0..<max(min(count, maxPages), 0) where !excerpt.isTruncated {
      if let page = document.page(Int32(index)) { append(page) }
    }
    if count > maxPages { excerpt.truncate() }
  }

  private mutating func append(_ page: borrowing Page) {
    let before = excerpt.characters
    excerpt.breakLine()
    page.withText { excerpt.append(utf8: $0) }
    if excerpt.characters > before { pages += 1 }
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
