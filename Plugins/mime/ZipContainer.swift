import StageKit

/// What kind of document a ZIP is, by what its directory names.
enum ZipContainer {
  /// The media type, or `nil`: a ZIP of no kind that is known here, or one whose directory cannot be read.
  static func type(of attachment: Attachment) throws(Outcome) -> String? {
    guard let directory = try ZipDirectory(attachment) else { return nil }
    var (mark, isJava, isAndroid): (ZipDirectory.Entry?, Bool, Bool) = (nil, false, false)
    var lists: [ZipDirectory.Entry] = []
    for entry in directory.entries {
      switch entry.name {
      case "[content_types].xml": lists.append(entry)
      case "mimetype": mark = mark ?? entry
      case "meta-inf/manifest.mf": isJava = true
      case "androidmanifest.xml": isAndroid = true
      default: break
      }
    }
    // Office opens whatever has such a list, whatever else the archive has.
    if !lists.isEmpty { return try OfficeDocument.type(lists, attachment) }
    if let mark, let type = try type(mark, attachment) { return type }
    if isAndroid { return "application/vnd.android.package-archive" }
    return isJava ? "application/java-archive" : nil
  }

  /// The type that an OpenDocument or a book names in the entry `mimetype`. It should not be packed, and some are.
  private static func type(_ mark: ZipDirectory.Entry, _ attachment: Attachment) throws(Outcome) -> String? {
    var text: [UInt8] = []
    guard
      try ZipData.read(
        mark, attachment, limit: 256,
        {
          text += $0; return true
        })
    else { return nil }
    let type = String(decoding: text, as: UTF8.self).filter { !$0.isWhitespace }.lowercased()
    let isKnown = known.contains { type.hasPrefix($0) }
    return isKnown && isMediaType(type) ? type : nil
  }

  private static let known = [
    "application/vnd.oasis.opendocument.", "application/vnd.sun.xml.", "application/epub+zip",
  ]
}
