import StageKit

/// The type of an XML document by its root element, where browsers run what is in it.
enum RootElement {
  /// How far the root is looked for, in bytes: behind comments and the document's own entities.
  private static let reach = 1 << 20

  /// - Parameter found: libmagic's answer. A page that libmagic calls HTML stays HTML: most of those in XHTML are served as HTML.
  /// - Returns: `nil` if it is no XML up to the root, or the root is neither SVG nor XHTML.
  static func type(
    of attachment: Attachment, found: String, _ head: UnsafeRawBufferPointer
  ) throws(Outcome) -> String? {
    // White space and the marks of encodings may come before.
    let first = head.first { !skipped.contains($0) }
    guard first == nil || first == UInt8(ascii: "<") else { return nil }
    var root: String?
    guard
      let parser = XMLElements({ name, _ in
        root = name
        return false
      })
    else { throw .fail("out-of-memory", "there is no memory to read the beginning of the content") }
    var at = 0
    while at < reach {
      let bytes = try attachment.read(16 << 10, at: Int64(at))
      if bytes.isEmpty || !bytes.withUnsafeBytes(parser.read) { break }
      at += bytes.count
    }
    let type = root.flatMap { types[$0] }
    return type == xhtml && found == "text/html" ? nil : type
  }

  private static let skipped: Set<UInt8> = [0x00, 0x09, 0x0A, 0x0D, 0x20, 0xEF, 0xBB, 0xBF, 0xFE, 0xFF]

  private static let xhtml = "application/xhtml+xml"
  private static let types = [
    "http://www.w3.org/2000/svg|svg": "image/svg+xml",
    "http://www.w3.org/1999/xhtml|html": xhtml,
  ]
}
