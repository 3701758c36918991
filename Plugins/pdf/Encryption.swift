import PDFDocument

/// Determines whether a document that opens is encrypted, even if only to restrict what readers may do.
///
/// poppler-glib does not report it. A document without the name `Encrypt` is not encrypted, and one with
/// restrictions is. In the remaining cases the document is opened with a random password: that succeeds only
/// without encryption. `Revision` makes this quick, and changes nothing of what is found.
struct Encryption {
  private let notAPassword: String

  init() {
    var random = SystemRandomNumberGenerator()
    notAPassword = String(random.next(), radix: 36) + String(random.next(), radix: 36)
  }

  func isThere(in document: borrowing Document, _ bytes: UnsafeRawBufferPointer, _ names: Names) -> Bool {
    names.contains(.encryption)
      && (document.hasRestrictions
        || Revision.withEarlier(bytes, names) { Document.needsPassword($0, not: notAPassword) })
  }
}
