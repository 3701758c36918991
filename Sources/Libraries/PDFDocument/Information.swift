import CPDF

extension Document {
  /// An entry of the information dictionary (ISO 32000-2, 14.3.3), and the property of XMP that corresponds to it.
  package enum Entry: String, CaseIterable {
    case title, author, subject, keywords, creator, producer, created, modified

    fileprivate var key: String {
      switch self {
      case .title: "Title"
      case .author: "Author"
      case .subject: "Subject"
      case .keywords: "Keywords"
      case .creator: "Creator"
      case .producer: "Producer"
      case .created: "CreationDate"
      case .modified: "ModDate"
      }
    }
  }

  /// Returns the entries as plain text, and dates in UTC as RFC 3339 writes them. XMP provides the
  /// entries that the dictionary lacks or has in a form that does not parse.
  package func information() -> [Entry: String] {
    var size = 0
    let metadata = sluice_pdf_metadata(pdf, 1 << 20, &size).map {
      Metadata(xml: UnsafeRawBufferPointer(start: $0, count: size)).values
    }
    var entries: [Entry: String] = [:]
    for entry in Entry.allCases {
      switch entry {
      case .created, .modified:
        entries[entry] =
          text(entry).flatMap(DateString.utc(pdf:)) ?? metadata?[entry].flatMap(DateString.utc(xmp:))
      default: entries[entry] = text(entry).flatMap(plainText) ?? metadata?[entry].flatMap(plainText)
      }
    }
    return entries
  }

  private func text(_ entry: Entry) -> String? {
    var size = 0
    guard let bytes = sluice_pdf_info(pdf, entry.key, &size) else { return nil }
    // Enough to cut from; bounds the work.
    return TextString.decode(UnsafeRawBufferPointer(start: bytes, count: min(size, 16_000)))
  }
}

/// A text from a PDF, made safe: without control characters, cut at 4,000 bytes between characters. `nil` if nothing but
/// white space is left.
private func plainText(_ text: String) -> String? {
  var plain = String.UnicodeScalarView()
  var count = 0
  var isBlank = true
  for scalar in text.unicodeScalars {
    let isSpace = "\t\n\r".unicodeScalars.contains(scalar)
    if !isSpace, scalar.properties.generalCategory == .control { continue }
    count += UTF8.width(scalar)
    if count > 4_000 { break }
    plain.append(isSpace ? " " : scalar)
    isBlank = isBlank && scalar.properties.isWhitespace
  }
  return isBlank ? nil : String(plain)
}
