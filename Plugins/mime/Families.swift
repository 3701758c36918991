/// Which media types are names for the same thing, and which types libmagic reports if it is not sure.
///
/// The vague types were observed on real files.
enum Families {
  /// Whether content of the type `found` can be of the claimed type.
  static func agree(claimed: String, found: String) -> Bool {
    let claimed = name(claimed)
    let found = name(found)
    if claimed == found { return true }
    switch found {
    case "inode/x-empty": return true
    case "application/octet-stream": return !certain.contains(claimed)
    case "application/zip": return isZip(claimed)
    case "application/x-ole-storage", "application/vnd.ms-office": return compound.contains(claimed)
    case "application/encrypted": return compound.contains(claimed) || isZip(claimed)
    case "text/plain": return isText(claimed)
    case "text/xml": return claimed.hasSuffix("+xml") || claimed == "text/plain"
    case "application/gzip": return claimed == "image/svg+xml"
    default: return claimed == "text/plain" && isHarmlessText(found)
    }
  }

  /// The common name of all types of a family.
  static func name(_ mediaType: String) -> String {
    let mediaType = mediaType.lowercased()
    return aliases[mediaType] ?? mediaType
  }

  /// Whether a type is a ZIP container: libmagic falls back to `application/zip`.
  static func isZip(_ mediaType: String) -> Bool {
    let mediaType = name(mediaType)
    return mediaType == "application/zip" || zipped.contains { mediaType.hasPrefix($0) }
      || mediaType.hasSuffix("+zip")
  }

  /// Whether a type is text: libmagic falls back to `text/plain`.
  static func isText(_ mediaType: String) -> Bool {
    let mediaType = name(mediaType)
    return ["text/", "message/"].contains { mediaType.hasPrefix($0) } || mediaType.hasSuffix("+xml")
      || mediaType.hasSuffix("+json") || written.contains(mediaType)
  }

  /// Types that programs show and run like plain text. libmagic guesses at programming languages.
  private static func isHarmlessText(_ mediaType: String) -> Bool {
    isText(mediaType)
      && !["text/html", "text/rtf", "image/svg+xml", "text/x-shellscript"].contains(mediaType)
  }

  /// Whether a type is a guess at prose, or at a text that no program runs when it is opened: languages of programs, tables,
  /// settings.
  static func isGuessAtText(_ mediaType: String) -> Bool {
    let isGuess = mediaType.hasPrefix("text/x-") || guesses.contains(mediaType)
    return isGuess && !["text/x-shellscript", "text/x-msdos-batch", "text/x-ms-regedit"].contains(mediaType)
  }

  private static let guesses: Set = [
    "text/csv", "text/tab-separated-values", "text/troff", "text/texmacs", "text/vnd.sosi",
    "text/javascript", "application/javascript", "application/x-setupscript",
    "application/x-wine-extension-ini",
    "image/x-portable-bitmap", "image/x-portable-graymap", "image/x-portable-pixmap",
  ]

  /// Types that libmagic always recognizes.
  private static let certain: Set = [
    "application/pdf", "image/jpeg", "image/png", "image/gif", "image/webp", "application/zip",
    "application/gzip",
  ]

  private static let zipped = [
    "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.",
    "application/vnd.ms-word.", "application/vnd.ms-excel.", "application/vnd.ms-powerpoint.",
    "application/vnd.ms-visio.", "application/vnd.ms-xpsdocument", "application/oxps",
    "application/vnd.apple.", "application/java-archive", "application/vnd.android.package-archive",
    "application/vnd.google-earth.kmz", "application/x-xpinstall", "application/x-hwp",
  ]

  /// Files inside OLE compound documents.
  private static let compound: Set = [
    "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
    "application/vnd.ms-outlook",
    "application/vnd.visio", "application/vnd.ms-project", "application/vnd.ms-publisher",
    "application/vnd.ms-works",
    "application/x-msi", "application/x-hwp",
  ]

  private static let written: Set = [
    "application/json", "application/x-ndjson", "application/x-subrip", "application/x-pem-file",
    "application/yaml",
    "application/sql", "application/x-tex", "application/mbox", "application/x-mswinurl",
    "image/x-portable-bitmap",
    "image/svg+xml", "application/postscript",
  ]
}
