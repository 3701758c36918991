/// Headers of other types in the first KiB of a file: libmagic may see one type in a polyglot, and the
/// program that opens it another.
enum Polyglot {
  static let reach = 1024

  /// The media types whose header is present besides that of the main type.
  static func types(in head: UnsafeRawBufferPointer, besides main: String) -> [String] {
    var types = headers.filter { head.starts(with: $0.bytes) && !$0.isMain(main) }.map(\.mediaType)
    if !holdsZip(main), count(of: zipHeader, in: head) > 0 {
      types.append("application/zip")
    }
    // A second header of the same type: two files in one, and readers differ on which they show.
    if count(of: pdfHeader, in: head) > (main == "application/pdf" ? 1 : 0) {
      types.append("application/pdf")
    }
    return types
  }

  // MARK: Anywhere

  /// Readers accept this header anywhere in the first 1,024 bytes (PDF 32000-1:2008, annex H, implementation
  /// note 13), and poppler ignores its case.
  private static let pdfHeader = Array("%pdf-".utf8)

  /// Readers of ZIP start at the end of a file, so anything may come before it (APPNOTE.TXT, 4.1.9).
  private static let zipHeader = Array("pk\u{3}\u{4}".utf8)

  private static func holdsZip(_ main: String) -> Bool {
    Families.isZip(main)
      || ["application/x-tar", "application/x-cpio", "application/x-archive"].contains(main)
  }

  /// How often a header occurs, ignoring case.
  private static func count(of header: [UInt8], in head: UnsafeRawBufferPointer) -> Int {
    var count = 0
    for start in head.indices.dropLast(header.count - 1) where lower(head[start]) == header[0] {
      if header.indices.allSatisfy({ lower(head[start + $0]) == header[$0] }) { count += 1 }
    }
    return count
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  // MARK: At the start

  /// Further inside a file, these headers belong to containers, cover pictures and thumbnails.
  private struct Header {
    let mediaType: String
    let bytes: [UInt8]
    var mayBeText = false

    func isMain(_ main: String) -> Bool {
      Families.name(main) == mediaType || mayBeText && Families.isText(main)
    }
  }

  private static let headers = [
    Header(mediaType: "image/gif", bytes: Array("GIF8".utf8)),
    Header(mediaType: "image/png", bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
    Header(mediaType: "image/jpeg", bytes: [0xFF, 0xD8, 0xFF]),
    Header(mediaType: "application/x-executable", bytes: [0x7F, 0x45, 0x4C, 0x46]),
    Header(mediaType: Families.program, bytes: Array("MZ".utf8), mayBeText: true),
    // With the slash: `#!AMR` begins a sound file.
    Header(mediaType: "text/x-shellscript", bytes: Array("#!/".utf8), mayBeText: true),
    Header(mediaType: "text/x-shellscript", bytes: Array("#! /".utf8), mayBeText: true),
  ]
}
