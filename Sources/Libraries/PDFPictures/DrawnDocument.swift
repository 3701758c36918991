import CPoppler
import PDFDocument

/// A PDF that poppler-glib has opened to draw its pages. The bytes must outlive it.
package struct DrawnDocument: ~Copyable {
  private let document: OpaquePointer

  /// Opens a document that needs no password to read.
  package init(_ bytes: UnsafeRawBufferPointer) throws(Document.Refusal) {
    guard !bytes.isEmpty else { throw .damaged("the file is empty") }
    let whole = g_bytes_new_static(bytes.baseAddress, gsize(bytes.count))
    defer { g_bytes_unref(whole) }
    let stream = g_memory_input_stream_new_from_bytes(whole)
    defer { g_object_unref(stream) }
    var error: UnsafeMutablePointer<GError>?
    // `poppler_document_new_from_bytes` crashes on a document with a password (poppler 22.12: it casts a copy of its
    // stream to a type the copy does not have, and uses the result).
    guard
      let document = poppler_document_new_from_stream(stream, goffset(bytes.count), nil, nil, &error)
    else {
      defer { g_clear_error(&error) }
      guard let reason = error?.pointee else { throw .damaged("no reason given") }
      if reason.domain == poppler_error_quark(), reason.code == Int32(POPPLER_ERROR_ENCRYPTED.rawValue) {
        throw .needsPassword
      }
      throw .damaged(reason.message.map { String(cString: $0) } ?? "no reason given")
    }
    self.document = document
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(document))
  }

  /// As the document claims. Poppler reports 0 without an error.
  package var pageCount: Int { Int(poppler_document_get_n_pages(document)) }

  /// The page at this index, from 0. `nil` if it cannot be loaded.
  package func page(_ index: Int32) -> Page? { poppler_document_get_page(document, index).map { Page($0) } }
}
