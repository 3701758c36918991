import PDFDocument

extension FuzzTarget {
  /// Text strings, dates and XMP of a PDF. Poppler reads everything else.
  static let pdf = FuzzTarget(name: "pdf") { bytes in
    try bytes.withUnsafeBytes { bytes in
      _ = TextString.decode(bytes)
      for entry in Metadata(xml: bytes).values.keys {
        try demand(bytes.count > 10, "\(entry) was found in \(bytes.count) bytes")
      }
    }
    for utc in [DateString.utc(pdf: text(bytes)), DateString.utc(xmp: text(bytes))] {
      guard let utc else { continue }
      try demand(isMoment(utc), "\(utc) is no date of RFC 3339")
      try demand(DateString.utc(xmp: utc) == utc, "\(utc) is another date when it is read again")
    }
  }

  private static func isMoment(_ text: String) -> Bool {
    text.utf8.count == 20
      && zip(text.utf8, "0000-00-00T00:00:00Z".utf8).allSatisfy { byte, form in
        form == 0x30 ? 0x30...0x39 ~= byte : byte == form
      }
  }
}
