import CArchive
import StageKit

/// How all of a content is compressed. libarchive would take off up to 25 layers; this stage takes off one, so that what a file
/// unpacks to is what other programs say.
enum Compression: String {
  case gzip, bzip2, xz, zstd, lz4

  /// Frames that are skipped, at most, to find one that is not.
  private static let mostSkipped = 64

  /// By the first bytes; `nil`: not at all.
  init?(_ attachment: Attachment) throws(Outcome) {
    var place: Int64 = 0
    for _ in 0..<Self.mostSkipped {
      let frame = try attachment.read(8, at: place)
      // RFC 8878, section 3.1.2; LZ4 frames have the same.
      guard frame.count == 8, frame[0] & 0xF0 == 0x50, frame[1...3].elementsEqual([0x2A, 0x4D, 0x18]) else {
        break
      }
      place += 8 + frame[4...].reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
    let head = try attachment.read(6, at: place)
    for (bytes, compression) in Self.heads where head.starts(with: bytes) {
      self = compression
      return
    }
    return nil
  }

  /// RFC 1952; bzip2(1); the file formats of xz and of LZ4 frames; RFC 8878.
  private static let heads: [([UInt8], Compression)] = [
    ([0x1F, 0x8B, 0x08], .gzip), (Array("BZh".utf8), .bzip2), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .xz),
    ([0x28, 0xB5, 0x2F, 0xFD], .zstd), ([0x04, 0x22, 0x4D, 0x18], .lz4),
    // Its older form.
    ([0x02, 0x21, 0x4C, 0x18], .lz4),
  ]

  var filter: Int32 {
    switch self {
    case .gzip: ARCHIVE_FILTER_GZIP
    case .bzip2: ARCHIVE_FILTER_BZIP2
    case .xz: ARCHIVE_FILTER_XZ
    case .zstd: ARCHIVE_FILTER_ZSTD
    case .lz4: ARCHIVE_FILTER_LZ4
    }
  }

  private var fileExtensions: [String] {
    switch self {
    case .gzip: ["gz"]
    case .bzip2: ["bz2"]
    case .xz: ["xz"]
    case .zstd: ["zst"]
    case .lz4: ["lz4"]
    }
  }

  /// The name of the one file inside: as a header of gzip says, or the content's own without its extension.
  func innerName(of attachment: Attachment) throws(Outcome) -> String {
    if self == .gzip, let name = try Self.headerName(attachment) { return name }
    let name = attachment.fileName
    for fileExtension in fileExtensions where name.lowercased().hasSuffix("." + fileExtension) {
      return String(name.dropLast(fileExtension.count + 1))
    }
    return name
  }

  /// FNAME of RFC 1952, section 2.3.1, in up to 1,024 bytes.
  private static func headerName(_ attachment: Attachment) throws(Outcome) -> String? {
    let head = try attachment.read(12, at: 0)
    guard head.count == 12, head[3] & 0x08 != 0 else { return nil }
    let extra = head[3] & 0x04 != 0 ? 2 + Int64(head[10]) + Int64(head[11]) << 8 : 0
    let bytes = try attachment.read(1024, at: 10 + extra)
    guard let end = bytes.firstIndex(of: 0), end > 0 else { return nil }
    return entryName(bytes[..<end])
  }
}
