import CPDF
import StageKit

/// Poppler's state per process, created before the sandbox closes.
///
/// Poppler builds global tables once, and keeps them. Reading a sample here makes poppler, expat and the C library load
/// whatever they load at first use.
package final class Poppler {
  package init() throws(Outcome) {
    guard sluice_pdf_start() else {
      throw .fail(
        "poppler-unavailable", "poppler \(Self.version) does not open files as it did when this was built")
    }
    guard let isRight = try? Self.readsWell() else {
      throw .fail("poppler-unavailable", "poppler \(Self.version) does not open a document that is valid")
    }
    if isRight { return }
    throw .fail("poppler-unavailable", "poppler \(Self.version) misreads a document that is valid")
  }

  private static func readsWell() throws(Document.Refusal) -> Bool {
    let document = try Document(TinyPDF.bytes)
    var text: [UInt8] = []
    let isRead = document.readText(ofPage: 0) { text += $0 }
    let entries = document.information()
    return isRead && text.starts(with: TinyPDF.text.utf8) && document.pageCount == 1
      && entries[.title] == TinyPDF.title && entries[.author] == TinyPDF.author
      && entries[.created] == TinyPDF.created && document.inspect() == (true, 0)
  }

  /// The version of the library, such as `22.12.0`.
  package static var version: String { String(cString: sluice_pdf_poppler_version()) }

  /// A description of the tables for a basis.
  package static var tables: String { "tables of \(sluice_pdf_tables()) bytes" }
}
