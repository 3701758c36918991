import CPDF

/// A PDF that poppler has opened. The bytes must outlive it.
package struct Document: ~Copyable {
  /// Why poppler did not open a document.
  package enum Refusal: Error {
    case needsPassword
    case damaged(String)
  }

  package enum Form: String {
    case none, acroform, xfa
  }

  /// Used by extensions in other files only.
  let pdf: OpaquePointer

  /// Opens a document that needs no password to read.
  package init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    guard !bytes.isEmpty else { throw .damaged("the file is empty") }
    var error = SLUICE_PDF_OPENS
    guard let pdf = sluice_pdf_open(bytes.baseAddress, bytes.count, &error) else {
      switch error {
      case SLUICE_PDF_NEEDS_PASSWORD: throw .needsPassword
      case SLUICE_PDF_BAD_CATALOG: throw .damaged("Failed to read the document catalog")
      case SLUICE_PDF_DAMAGED: throw .damaged("PDF document is damaged")
      default: throw .damaged("Failed to load document")
      }
    }
    self.pdf = pdf
  }

  deinit {
    sluice_pdf_close(pdf)
  }

  /// The number of pages in the page tree, or the number that the document claims if the tree is damaged. Some pages
  /// may not load.
  package var pageCount: Int { Int(sluice_pdf_pages(pdf)) }

  /// Whether the page at this index, from 0, can be loaded.
  package func loadsPage(_ index: Int) -> Bool { sluice_pdf_loads(pdf, Int32(clamping: index)) }

  /// The size of a page in points, as shown: cropped, turned and scaled by its unit. `nil` where the document gives no
  /// number.
  package func size(ofPage index: Int) -> (width: Double, height: Double)? {
    var width = 0.0
    var height = 0.0
    let isThere = sluice_pdf_size(pdf, Int32(clamping: index), &width, &height)
    return isThere && width.isFinite && height.isFinite ? (width, height) : nil
  }

  /// Hands over the text of a page and its annotations in pieces, in UTF-8 and in the order in which it is read: lines
  /// that end with a newline, with an empty line after each column.
  ///
  /// Returns whether the page could be loaded.
  package func readText(ofPage index: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    typealias Body = (UnsafeRawBufferPointer) -> Void
    return withoutActuallyEscaping(body) { body in
      withUnsafePointer(to: body) { context in
        sluice_pdf_text(
          pdf, Int32(clamping: index),
          { context, text, size in
            context?.assumingMemoryBound(to: Body.self).pointee(
              UnsafeRawBufferPointer(start: text, count: Int(size)))
          }, UnsafeMutableRawPointer(mutating: context))
      }
    }
  }

  /// Such as `1.7`.
  package var version: String {
    var major: Int32 = 0
    var minor: Int32 = 0
    sluice_pdf_version(pdf, &major, &minor)
    return "\(major).\(minor)"
  }

  /// Whether it is encrypted, even if only to restrict what readers may do.
  package var isEncrypted: Bool { sluice_pdf_is_encrypted(pdf) }

  package var isLinearized: Bool { sluice_pdf_is_linearized(pdf) }

  package var form: Form {
    switch sluice_pdf_form_kind(pdf) {
    case SLUICE_PDF_ACROFORM: .acroform
    case SLUICE_PDF_XFA: .xfa
    default: .none
    }
  }

  /// Visits the pages and whatever can hold an action, which takes some 10 microseconds for each page.
  package func inspect() -> (hasScript: Bool, attachments: Int) {
    let findings = sluice_pdf_inspect(pdf)
    return (findings.has_script, Int(findings.attachments))
  }
}
