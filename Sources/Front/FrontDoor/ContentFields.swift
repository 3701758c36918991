import FrontWire

/// What is said of a content that others sent, so that no browser takes it for a page of this server.
enum ContentFields {
  /// Types that a browser may show; any other is saved to a file. HTML, SVG and XML run scripts, and are never among them.
  private static let shown: Set<String> = [
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "text/plain", "application/pdf",
  ]

  /// - Parameters:
  ///   - charset: of a text; `nil`: it is not known, and browsers look for themselves.
  ///   - isDownload: it is to be saved in any case.
  ///   - keepingTime: how long a client may keep it, in seconds; `nil`: it asks each time.
  static func all(
    mediaType: String?, charset: String? = "utf-8", fileName: String, isDownload: Bool,
    keepingTime: Int64? = nil
  ) -> [FrontRequest.Pair] {
    let type = mediaType ?? "application/octet-stream"
    let isShown = shown.contains(type) && !isDownload
    return [
      .init("Content-Type", type == "text/plain" ? type + (charset.map { "; charset=\($0)" } ?? "") : type),
      .init("Content-Disposition", disposition(fileName, isShown: isShown)),
      .init("Accept-Ranges", "bytes"),
      cacheControl(keepingTime),
      .init("Vary", "Authorization, Cookie"),
      .init("X-Content-Type-Options", "nosniff"),
      .init("Referrer-Policy", "no-referrer"),
      .init("Cross-Origin-Resource-Policy", "same-origin"),
      .init("Content-Security-Policy", "sandbox; default-src 'none'"),
    ]
  }

  static func cacheControl(_ keepingTime: Int64?) -> FrontRequest.Pair {
    .init("Cache-Control", keepingTime.map { "private, max-age=\($0)" } ?? "private, no-cache")
  }

  /// A name for old programs and one for the others (RFC 6266, RFC 8187).
  static func disposition(_ fileName: String, isShown: Bool) -> String {
    let name = harmless(fileName)
    let plain = name.unicodeScalars.map { scalar -> Character in
      // Some programs decode words of mail (RFC 2047) in it, which could say anything; those have a '?'.
      scalar.isASCII && !["\"", "\\", "%", "?"].contains(scalar) ? Character(scalar) : "_"
    }
    var text = isShown ? "inline" : "attachment"
    text += "; filename=\"\(String(plain))\""
    if name != String(plain) { text += "; filename*=UTF-8''\(PercentEncoding.text(name))" }
    return text
  }

  /// The last part of a path, without what acts on a terminal or turns the direction of writing; at most 200 bytes, of which the
  /// ending stays. Joiners stay as well: without them it would be another word, or another picture.
  static func harmless(_ fileName: String) -> String {
    var name = ""
    for scalar in fileName.unicodeScalars {
      switch scalar.value {
      case 0x2F, 0x5C: name = ""
      case 0..<0x20, 0x7F...0x9F, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFFD:
        continue
      default: name.unicodeScalars.append(scalar)
      }
    }
    name = shortened(name)
    name = String(name.drop { $0 == " " || $0 == "." })
    while name.last == " " || name.last == "." { name.removeLast() }
    return name.isEmpty ? "attachment" : name
  }

  private static func shortened(_ name: String) -> String {
    if name.utf8.count <= longest { return name }
    let dot = name.lastIndex(of: ".") ?? name.endIndex
    let ending = name[dot...].utf8.count <= 20 ? name[dot...] : ""
    var stem = name[..<dot]
    if ending.isEmpty { stem = name[...] }
    while stem.utf8.count + ending.utf8.count > longest { stem.removeLast() }
    return String(stem + ending)
  }

  private static let longest = 200
}
