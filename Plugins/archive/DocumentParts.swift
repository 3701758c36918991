import StageKit

/// The parts of office documents and e-books, which are ZIPs. Files that people put into a document are no parts.
enum DocumentParts {
  /// Types whose files are ZIPs of parts (ECMA-376, ISO/IEC 26300, EPUB 3).
  private static let types = [
    "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
    "application/vnd.ms-word.", "application/vnd.ms-excel.", "application/vnd.ms-powerpoint.",
    "application/epub+zip",
  ]

  /// Markup, relations, and the pictures and fonts of pages. Nobody runs a program with such a name.
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
