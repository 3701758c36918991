import CPoppler
import PDFDocument

extension Page {
  /// Why there is no picture of a page.
  package enum Blank: Error {
    /// Its size is no size.
    case sizeless
    /// There is no memory for it.
    case outOfMemory
    /// Cairo has given up on what it says.
    case undrawable(String)
  }

  /// Draws the page as a reader shows it, on white.
  ///
  /// - Parameters:
  ///   - edge: the longer side, in pixels; less for a page so small that it would be drawn at more than 300 dots per inch.
  ///   - body: gets lines of pixels from top to bottom, `stride` bytes each; a pixel is four bytes, as a number of the machine
  ///     `0x00RRGGBB`.
  package func draw<Result: ~Copyable>(
    fitting edge: Int,
    _ body: (_ pixels: UnsafeRawBufferPointer, _ stride: Int, _ width: Int, _ height: Int) -> Result
  ) throws(Blank) -> Result {
    guard let (width, height) = size, width > 0, height > 0 else { throw .sizeless }
    let scale = min(Double(edge) / max(width, height), 300 / 72)
    // A page may be a thousand times as long as it is wide.
    let columns = min(max(Int((width * scale).rounded()), 1), edge)
    let lines = min(max(Int((height * scale).rounded()), 1), edge)
    let surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(columns), Int32(lines))
    defer { cairo_surface_destroy(surface) }
    guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS else { throw .outOfMemory }
    try Self.check(
      {
        let context = cairo_create(surface)
        defer { cairo_destroy(context) }
        cairo_set_source_rgb(context, 1, 1, 1)
        cairo_paint(context)
        cairo_scale(context, Double(columns) / width, Double(lines) / height)
        poppler_page_render(page, context)
        return cairo_status(context)
      }())
    cairo_surface_flush(surface)
    let stride = Int(cairo_image_surface_get_stride(surface))
    guard let start = cairo_image_surface_get_data(surface) else { throw .outOfMemory }
    return body(UnsafeRawBufferPointer(start: start, count: stride * lines), stride, columns, lines)
  }

  private static func check(_ status: cairo_status_t) throws(Blank) {
    switch status {
    case CAIRO_STATUS_SUCCESS: return
    case CAIRO_STATUS_NO_MEMORY: throw .outOfMemory
    default: throw .undrawable(String(cString: cairo_status_to_string(status)))
    }
  }
}
