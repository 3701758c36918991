import CPoppler
import Glibc

/// A page of a ``Document`` that is open.
package struct Page: ~Copyable {
  /// Used by extensions in other files and by what draws pages.
  package let page: OpaquePointer

  init(_ page: OpaquePointer) {
    self.page = page
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(page))
  }

  /// In points, as shown: cropped and turned. `nil` where the document gives no number.
  package var size: (width: Double, height: Double)? {
    var width = 0.0
    var height = 0.0
    poppler_page_get_size(page, &width, &height)
    return width.isFinite && height.isFinite ? (width, height) : nil
  }

  /// Its text in reading order, in UTF-8, while `body` runs.
  package func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let text = poppler_page_get_text(page)
    defer { g_free(text) }
    return body(UnsafeRawBufferPointer(start: text, count: text.map { strlen($0) } ?? 0))
  }

  /// Whether the page has form fields.
  package var hasFormFields: Bool {
    let fields = poppler_page_get_form_field_mapping(page)
    defer { poppler_page_free_form_field_mapping(fields) }
    return fields != nil
  }
}
