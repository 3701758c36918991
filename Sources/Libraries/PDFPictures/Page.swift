import CPoppler

/// A page of a ``DrawnDocument`` that is open.
package struct Page: ~Copyable {
  let page: OpaquePointer

  init(_ page: OpaquePointer) {
    self.page = page
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(page))
  }

  /// In points, as shown: cropped and turned. `nil` where the document gives no number.
  var size: (width: Double, height: Double)? {
    var width = 0.0
    var height = 0.0
    poppler_page_get_size(page, &width, &height)
    return width.isFinite && height.isFinite ? (width, height) : nil
  }
}
