import CPDF
import StageKit

/// Poppler's state per process, created before the sandbox closes.
///
/// Poppler builds global tables once, and they stay. A document is read in each way that a stage reads one, so that all
/// that poppler, expat and the C library prepare at first use is there.
package final class Poppler {
  package init() throws(Outcome) {
    sluice_pdf_start()
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

  /// Of the library, such as `22.12.0`.
  public static var version: String { String(cString: sluice_pdf_poppler_version()) }
}
