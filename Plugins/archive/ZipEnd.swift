import Glibc
import StageKit

/// The end record of a ZIP (APPNOTE.TXT of PKWARE, section 4.3.16), by which programs find its files, whatever lies before them.
///
/// libarchive looks for it in the last 16 KB, and not at all where the content begins as another archive. Others look for it as far
/// as a comment behind it can be long.
struct ZipEnd {
  /// Where the ZIP begins, and where its end record ends.
  let range: Range<Int64>
  private let isFar: Bool
  /// Whether all of the content is a ZIP, and libarchive does not see its end.
  let hidesItself: Bool

  /// The last one; `nil`: there is none that has files.
  init?(_ attachment: Attachment) throws(Outcome) {
    let begin = max(attachment.size - Self.farthest, 0)
    let tail = try attachment.read(Int(min(attachment.size, Self.farthest)), at: begin)
    var place = tail.count - Self.length
    while place >= 0 {
      if tail[place] == 0x50, tail[place...].starts(with: Self.signature),
        let start = try Self.start(
          of: tail[place..<(place + Self.length)], at: begin + Int64(place), attachment)
      {
        let end = begin + Int64(place + Self.length)
        (range, isFar) = (start..<end, attachment.size - end + Int64(Self.length) > Self.near)
        let head = try attachment.read(4, at: 0)
        hidesItself = isFar && start == 0 && head == Self.localSignature
        return
      }
      place -= 1
    }
    return nil
  }

  /// Whether libarchive has read the files of this record.
  ///
  /// - Parameter format: what it took the content for.
  func isRead(as format: String?) -> Bool { format == "zip" && (!isFar || hidesItself) }

  private static let signature: [UInt8] = [0x50, 0x4B, 0x05, 0x06]
  /// Of a file.
  private static let localSignature: [UInt8] = [0x50, 0x4B, 0x03, 0x04]
  /// Of a file in the directory.
  private static let fileSignature: [UInt8] = [0x50, 0x4B, 0x01, 0x02]
  /// Bytes of the record without its comment.
  private static let length = 22
  /// Bytes in which libarchive looks for the record, and others do.
  private static let (near, farthest): (Int64, Int64) = (16 << 10, 22 + 0xFFFF)

  /// Where the ZIP begins. `nil`: the record is none, or one without files.
  private static func start(
    of record: ArraySlice<UInt8>, at place: Int64, _ attachment: Attachment
  ) throws(Outcome) -> Int64? {
    func number(_ offset: Int, _ count: Int) -> Int64 {
      (0..<count).reduce(0) { $0 | Int64(record[record.startIndex + offset + $1]) << (8 * Int64($1)) }
    }
    let (files, size, offset) = (number(10, 2), number(12, 4), number(16, 4))
    if files == 0 { return nil }
    // Larger numbers lie in a record before this one (section 4.3.14).
    if files == 0xFFFF || size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF { return 0 }
    guard size + offset <= place, try attachment.read(4, at: place - size) == fileSignature else {
      return nil
    }
    return place - size - offset
  }
}
