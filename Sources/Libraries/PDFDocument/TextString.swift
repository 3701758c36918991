import CPDF

/// A text string of a PDF (ISO 32000-2, 7.9.2.2): UTF-16, UTF-8 or PDFDocEncoding.
package enum TextString {
  package static func decode(_ bytes: UnsafeRawBufferPointer) -> String {
    if bytes.starts(with: [0xFE, 0xFF]) { return decode(utf16: bytes.dropFirst(2)) { $0 << 8 | $1 } }
    // The standard has no UTF-16 of this order, but some writers do.
    if bytes.starts(with: [0xFF, 0xFE]) { return decode(utf16: bytes.dropFirst(2)) { $1 << 8 | $0 } }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      return withoutLanguages(String(decoding: bytes.dropFirst(3), as: UTF8.self))
    }
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(Unicode.Scalar(sluice_pdf_character(byte)) ?? "\u{FFFD}") }
    return String(text)
  }

  /// Half a unit at the end is left out.
  private static func decode(
    utf16 bytes: Slice<UnsafeRawBufferPointer>, _ unit: (UInt16, UInt16) -> UInt16
  ) -> String {
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
      unit(UInt16(bytes[$0]), UInt16(bytes[$0 + 1]))
    }
    return withoutLanguages(String(decoding: units, as: UTF16.self))
  }

  /// Leaves out the codes of languages, each between two escape characters (7.9.2.2.3).
  private static func withoutLanguages(_ text: String) -> String {
    guard text.unicodeScalars.contains("\u{1B}") else { return text }
    var kept = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let escape = rest.firstIndex(of: "\u{1B}") {
      kept += rest[..<escape]
      rest = rest[escape...].dropFirst()
      // A language has two letters and perhaps two more for a country.
      let code = rest.prefix(4).prefix { $0.properties.isASCIIHexDigit || ("A"..."z").contains($0) }
      let after = rest[code.endIndex...]
      if code.count == 2 || code.count == 4, after.first == "\u{1B}" { rest = after.dropFirst() }
    }
    return String(kept + rest)
  }
}
