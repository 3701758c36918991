import StageKit

/// The parts that office documents and e-books consist of, which are ZIPs: what people put into them is something else.
enum DocumentParts {
  /// Types whose files are ZIPs of parts (ECMA-376, ISO/IEC 26300, EPUB 3).
  private static let types = [
    "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
    "application/vnd.ms-word.", "application/vnd.ms-excel.", "application/vnd.ms-powerpoint.",
    "application/epub+zip",
  ]

  /// Markup, relations, and the pictures and fonts of pages. A program that is called so is run by nobody.
  private static let patterns = [
    "*.xml", "*.rels", "*.vml", "mimetype", "*/media/*.png", "*/media/*.jp*g", "*/media/*.gif",
    "*/media/*.emf", "*/media/*.wmf",
    "*/media/*.svg", "*/media/*.tif*", "Pictures/*", "Thumbnails/*", "*/thumbnail.*", "*/printerSettings/*",
    "*.odttf", "*.fntdata",
    "*.rdf", "*.opf", "*.ncx", "*.xhtml", "*.css",
  ].map(NamePattern.init)

  static func isDocument(_ attachment: Attachment) -> Bool {
    let type = attachment.mediaType?.lowercased() ?? ""
    return types.contains { type.hasPrefix($0) }
  }

  static func has(_ path: String) -> Bool { patterns.contains { $0.matches(path) } }
}
