@testable import MimeStage

extension FuzzTarget {
  /// The beginning of a file; its lines also serve as a sender's claims.
  static let mime = FuzzTarget(name: "mime", longest: 2048) { bytes in
    let file = try MemoryFile(bytes)
    let head = Head()
    for main in ["application/pdf", "application/zip", "image/gif", "text/plain", "inode/x-empty"] {
      let types = Polyglot.types(in: try head.read(file.content), besides: main)
      // Except a PDF in a PDF, which is two files in one.
      try demand(
        types.allSatisfy(isMediaType) && (main == "application/pdf" || !types.contains(main)),
        "\(main) holds \(types)")
      let plain = bytes.prefix(Polyglot.reach).contains { $0 == 0x25 || $0 == 0x50 || $0 == 0x70 }
      try demand(plain || !types.contains("application/zip"), "a ZIP without its letters")
    }
    for found in ["application/zip", "application/octet-stream", "text/plain", "text/xml", "image/heif"] {
      let type = try Structure.type(of: file.content, found: found, head: head.read(file.content))
      try demand(type.map(isMediaType) != false, "the structure is of \(type ?? "")")
    }
    for line in bytes.split(separator: 10) {
      let claim = text(line)
      for limit in [1, 255] {
        let plain = plainText(claim, limit: limit)
        try demand(plain.utf8.count <= limit, "\(plain.utf8.count) bytes where \(limit) are allowed")
        try demand(!plain.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "controls in \(plain.debugDescription)")
      }
      if let type = declaredMediaType(claim) {
        try demand(isMediaType(type) && isPrintable(type), "the declared type \(type.debugDescription)")
        _ = Families.agree(claimed: type, found: "text/plain")
      }
      if let suffix = fileExtension(claim) {
        try demand((1...16).contains(suffix.utf8.count) && isWithinStore(suffix), "the extension \(suffix)")
        _ = Extensions.agree(suffix, found: "application/octet-stream")
      }
    }
  }
}
