import PDFDocument

/// Determines whether a document that opens holds a script.
///
/// A name `JavaScript` that is not compressed is one. Poppler is asked only where there may be others, because it
/// visits every page.
struct Scripts {
  private let objectStreams = ObjectStreams()

  func areThere(in document: borrowing Document, _ bytes: UnsafeRawBufferPointer, _ names: Names) -> Bool {
    if names.contains(.script) { return true }
    guard names.mayHideScript else { return false }
    let isPlain = !names.contains(.source) && !names.contains(.encryption)
    return isPlain && objectStreams.haveNoScript(in: bytes) ? false : document.hasJavaScript
  }
}
