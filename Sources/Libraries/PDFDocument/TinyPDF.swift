/// A document that exercises every feature of poppler the stage uses: one empty page, a title in UTF-16, a
/// date.
enum TinyPDF {
  static let title = "é"
  static let created = "2000-02-29T12:00:00Z"

  /// Allocated once and never freed. The offsets in its table are correct, so poppler has nothing to repair.
  static var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private static let text: StaticString = """
    %PDF-1.4
    1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
    3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >> endobj
    4 0 obj << /Title <FEFF00E9> /CreationDate (D:20000229130000+01'00') >> endobj
    xref
    0 5
    0000000000 65535 f\u{20}
    0000000009 00000 n\u{20}
    0000000058 00000 n\u{20}
    0000000115 00000 n\u{20}
    0000000182 00000 n\u{20}
    trailer << /Size 5 /Root 1 0 R /Info 4 0 R >>
    startxref
    261
    %%EOF

    """
}
