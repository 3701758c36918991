/// The media types of common file name extensions. Extensions that are not listed are ignored.
enum Extensions {
  /// Whether content of the type `found` may have this extension.
  static func agree(_ fileExtension: String, found: String) -> Bool {
    guard let types = table[fileExtension] else { return true }
    return types.contains { Families.agree(claimed: $0, found: found) }
  }

  /// The registered type first; then types that libmagic reports for genuine files of this extension.
  private static let table: [String: [String]] = [
    // Documents
    "pdf": ["application/pdf"],
    "doc": ["application/msword"],
    "docx": [Families.word], "dotx": [Families.word],
    "docm": [Families.wordMacros], "dotm": [Families.wordMacros],
    "xls": ["application/vnd.ms-excel"],
    "xlt": ["application/vnd.ms-excel"],
    "xlsx": [Families.excel], "xltx": [Families.excel],
    "xlsm": [Families.excelMacros], "xlsb": [Families.excelMacros], "xltm": [Families.excelMacros],
    "xlam": [Families.excelMacros],
    "ppt": ["application/vnd.ms-powerpoint"], "pps": ["application/vnd.ms-powerpoint"],
    "pptx": [Families.powerpoint], "ppsx": [Families.powerpoint], "potx": [Families.powerpoint],
    "pptm": [Families.powerpointMacros], "ppsm": [Families.powerpointMacros],
    "potm": [Families.powerpointMacros],
    "ppam": [Families.powerpointMacros],
    "odt": ["application/vnd.oasis.opendocument.text"],
    "ods": ["application/vnd.oasis.opendocument.spreadsheet"],
    "odp": ["application/vnd.oasis.opendocument.presentation"],
    "odg": ["application/vnd.oasis.opendocument.graphics"],
    "pages": ["application/vnd.apple.pages"], "numbers": ["application/vnd.apple.numbers"],
    "rtf": ["text/rtf"],
    "epub": ["application/epub+zip"],
    "ps": ["application/postscript"], "eps": ["application/postscript", "image/x-eps"],
    // Mail and calendars
    "eml": ["message/rfc822", "text/html"],
    "msg": ["application/vnd.ms-outlook"],
    "ics": ["text/calendar"], "vcf": ["text/vcard", "text/x-vcard"],
    // Text
    "txt": ["text/plain"], "log": ["text/plain"],
    "csv": ["text/csv"], "tsv": ["text/tab-separated-values"],
    "html": ["text/html", "text/xml", "application/xhtml+xml"],
    "htm": ["text/html", "text/xml", "application/xhtml+xml"],
    "xml": ["text/xml", "text/html", "image/svg+xml", "application/xhtml+xml"],
    "json": ["application/json", "application/x-ndjson"],
    "jsonl": ["application/x-ndjson", "application/json"],
    // Images
    "jpg": ["image/jpeg"], "jpeg": ["image/jpeg"], "png": ["image/png"], "gif": ["image/gif"],
    "webp": ["image/webp"],
    "bmp": ["image/bmp"], "tif": ["image/tiff"], "tiff": ["image/tiff"], "svg": ["image/svg+xml"],
    "heic": ["image/heic"], "heif": ["image/heic"], "avif": ["image/avif"],
    "ico": ["image/vnd.microsoft.icon"], "psd": ["image/vnd.adobe.photoshop"],
    // Sound and film
    "mp3": ["audio/mpeg"], "wav": ["audio/x-wav"], "flac": ["audio/flac"], "aac": ["audio/aac"],
    "mid": ["audio/midi"],
    "ogg": ["audio/ogg"], "oga": ["audio/ogg"], "opus": ["audio/ogg"],
    "mp4": ["video/mp4"], "m4a": ["video/mp4"], "m4v": ["video/mp4"], "mov": ["video/quicktime"],
    "mkv": ["video/x-matroska"], "webm": ["video/webm"], "avi": ["video/x-msvideo"],
    "wmv": ["video/x-ms-asf"], "wma": ["video/x-ms-asf"],
    // Archives and programs
    "zip": ["application/zip"], "jar": ["application/java-archive"],
    "apk": ["application/vnd.android.package-archive"],
    "gz": ["application/gzip"], "tgz": ["application/gzip"], "bz2": ["application/x-bzip2"],
    "xz": ["application/x-xz"],
    "zst": ["application/zstd"], "tar": ["application/x-tar"], "7z": ["application/x-7z-compressed"],
    "rar": ["application/x-rar"], "cab": ["application/vnd.ms-cab-compressed"],
    "exe": [Families.program], "dll": [Families.program],
    "sh": ["text/x-shellscript"],
  ]
}
