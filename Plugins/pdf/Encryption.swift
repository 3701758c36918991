import PDFDocument

/// Finds out whether a document that opens is encrypted, if only to restrict what readers may do.
///
/// poppler-glib does not tell. A document that names no `Encrypt` is not, and one that forbids something is. For the rest a
/// password nobody can know tells: only without encryption does it open anything.
struct Encryption {
  private let notAPassword: String

  init() {
    var random = SystemRandomNumberGenerator()
    notAPassword = String(random.next(), radix: 36) + String(random.next(), radix: 36)
  }

  func isThere(in document: borrowing Document, _ bytes: UnsafeRawBufferPointer, _ names: Names) -> Bool {
    names.contains(.encryption)
      && (document.hasRestrictions || Document.needsPassword(bytes, not: notAPassword))
  }
}
