import CPoppler

/// A PDF that poppler has opened. The bytes must outlive it.
package struct Document: ~Copyable {
  /// Why poppler did not open a document.
  package enum Refusal: Error {
    case needsPassword
    case damaged(String)
  }

  /// Used by extensions in other files only.
  let document: OpaquePointer

  /// Opens a document that needs no password to read.
  package init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    document = try Self.open(bytes, password: nil).get()
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(document))
  }

  private typealias Opened = Result<OpaquePointer, Refusal>

  /// Whether the document still asks for a password after an attempt with `wrong`, which is certainly not its
  /// password.
  package static func needsPassword(_ bytes: UnsafeRawBufferPointer, not wrong: String) -> Bool {
    switch open(bytes, password: wrong) {
    case .failure(.needsPassword): return true
    case .failure(.damaged): return false
    case .success(let document):
      g_object_unref(UnsafeMutableRawPointer(document))
      return false
    }
  }

  /// Opens through a stream, because `poppler_document_new_from_bytes` crashes on a wrong password (poppler
  /// 22.12: it casts a copy of its stream to a type the copy does not have, and uses the result).
  private static func open(_ bytes: UnsafeRawBufferPointer, password: String?) -> Opened {
    guard !bytes.isEmpty else { return .failure(.damaged("the file is empty")) }
    let whole = g_bytes_new_static(bytes.baseAddress, gsize(bytes.count))
    defer { g_bytes_unref(whole) }
    let stream = g_memory_input_stream_new_from_bytes(whole)
    defer { g_object_unref(stream) }
    var error: UnsafeMutablePointer<GError>?
    if let document = poppler_document_new_from_stream(stream, goffset(bytes.count), password, nil, &error) {
      return .success(document)
    }
    defer { g_clear_error(&error) }
    guard let reason = error?.pointee else { return .failure(.damaged("no reason given")) }
    if reason.domain == poppler_error_quark(), reason.code == Int32(POPPLER_ERROR_ENCRYPTED.rawValue) {
      return .failure(.needsPassword)
    }
    return .failure(.damaged(plainText(reason.message) ?? "no reason given"))
  }

  /// As the document claims. Poppler reports 0 without an error.
  package var pageCount: Int { Int(poppler_document_get_n_pages(document)) }

  /// The page at this index, from 0. `nil` if it cannot be loaded.
  package func page(_ index: Int32) -> Page? { poppler_document_get_page(document, index).map { Page($0) } }

  /// Whether its permissions forbid something to readers.
  package var hasRestrictions: Bool {
    poppler_document_get_permissions(document) != POPPLER_PERMISSIONS_FULL
  }

  /// Such as `1.7`.
  package var version: String {
    var major: guint = 0
    var minor: guint = 0
    poppler_document_get_pdf_version(document, &major, &minor)
    return "\(major).\(minor)"
  }

  package var isLinearized: Bool { poppler_document_is_linearized(document) != 0 }

  package var attachmentCount: Int { Int(poppler_document_get_n_attachments(document)) }

  /// Visits every page, at 6 microseconds each.
  package var hasJavaScript: Bool { poppler_document_has_javascript(document) != 0 }
}
