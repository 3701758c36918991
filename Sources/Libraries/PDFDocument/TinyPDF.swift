/// A document that exercises every feature of poppler that stages use: a page with text and an annotation, a script, metadata,
/// a title in UTF-16, a date.
enum TinyPDF {
  static let title = "é"
  static let author = "x"
  static let created = "2000-02-29T12:00:00Z"
  static let text = "a\n"

  /// Allocated once and never freed. The offsets in its table are correct, so poppler has nothing to repair.
  static var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: source.utf8Start, count: source.utf8CodeUnitCount)
  }

  private static let source: StaticString = """
    %PDF-1.4
    1 0 obj << /Type /Catalog /Pages 2 0 R /Metadata 5 0 R /OpenAction 6 0 R >> endobj
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
    3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 7 0 R /Annots [8 0 R]
    /Resources << /Font << /F 9 0 R >> >> >> endobj
    4 0 obj << /Title <FEFF00E9> /CreationDate (D:20000229130000+01'00') >> endobj
    5 0 obj << /Type /Metadata /Subtype /XML /Length 181 >> stream
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>x</dc:creator></rdf:Description></rdf:RDF>
    endstream endobj
    6 0 obj << /S /JavaScript /JS (x) >> endobj
    7 0 obj << /Length 28 >> stream
    BT /F 9 Tf 9 60 Td (a) Tj ET
    endstream endobj
    8 0 obj << /Type /Annot /Subtype /FreeText /Rect [9 9 90 30] /DA (/F 9 Tf 0 g) /Contents (b) >> endobj
    9 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Courier >> endobj
    xref
    0 10
    0000000000 65535 f\u{20}
    0000000009 00000 n\u{20}
    0000000092 00000 n\u{20}
    0000000149 00000 n\u{20}
    0000000288 00000 n\u{20}
    0000000367 00000 n\u{20}
    0000000629 00000 n\u{20}
    0000000673 00000 n\u{20}
    0000000751 00000 n\u{20}
    0000000854 00000 n\u{20}
    trailer << /Size 10 /Root 1 0 R /Info 4 0 R >>
    startxref
    922
    %%EOF

    """
}
