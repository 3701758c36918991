import StageKit

/// The record at the end of a ZIP that says where its directory lies (APPNOTE.TXT, sections 4.3.12 to 4.3.16). Programs look for the
/// last one in the last 64 KB; libarchive looks in the last 16 KB only.
struct EndRecord {
  private static let size = 22
  private static let longestComment = 65_535
  private static let signature: [UInt8] = [0x50, 0x4B, 5, 6]
  private static let entrySignature: [UInt8] = [0x50, 0x4B, 1, 2]
  private static let locatorSignature: [UInt8] = [0x50, 0x4B, 6, 7]

  /// Where the ZIP begins: there may be other bytes in front.
  let start: Int64
  /// Where it ends, but for its comment.
  let end: Int64
  private let directory: Int64

  /// The last one that leads to a directory with entries; `nil`: there is none.
  init?(_ attachment: Attachment) throws(Outcome) {
    let length = min(attachment.size, Int64(Self.size + Self.longestComment))
    let first = attachment.size - length
    let tail = [UInt8](try attachment.read(Int(length), at: first))
    guard tail.count >= Self.size else { return nil }
    for place in stride(from: tail.count - Self.size, through: 0, by: -1)
    where tail[place] == 0x50 && tail[place...].starts(with: Self.signature) {
      let record = first + Int64(place)
      var claims = [
        (
          end: record, size: Self.number(tail[(place + 12)...], 4),
          offset: Self.number(tail[(place + 16)...], 4)
        )
      ]
      if record >= 20 {
        let locator = [UInt8](try attachment.read(20, at: record - 20))
        if locator.starts(with: Self.locatorSignature) {
          let place = Self.number(locator[8...], 8)
          let large = place >= 0 && place < record ? [UInt8](try attachment.read(56, at: place)) : []
          if large.count == 56 {
            claims.insert((place, Self.number(large[40...], 8), Self.number(large[48...], 8)), at: 0)
          }
        }
      }
      for claim in claims where claim.offset >= 0 {
        for directory in [claim.end &- claim.size, claim.offset] where directory >= 0 && directory < record {
          guard try attachment.read(4, at: directory).elementsEqual(Self.entrySignature) else { continue }
          start = max(directory &- claim.offset, 0)
          end = record + Int64(Self.size)
          self.directory = directory
          return
        }
      }
    }
    return nil
  }

  /// Bytes of the directory to read otherwise, by their place. libarchive gives no content of a link, a folder or a device; others
  /// write what has content as a file, whatever its mode says. So these are marked as files.
  ///
  /// - Parameter most: entries that are looked at.
  func marksOfFiles(_ attachment: Attachment, most: Int64) throws(Outcome) -> [(place: Int64, byte: UInt8)] {
    var marks: [(place: Int64, byte: UInt8)] = []
    var place = directory
    for _ in 0..<most where place < end {
      let entry = [UInt8](try attachment.read(46, at: place))
      guard entry.count == 46, entry.starts(with: Self.entrySignature) else { break }
      // Nothing is two bytes where it is deflated.
      if Self.number(entry[24...], 4) > 0 || Self.number(entry[20...], 4) > 2 {
        if entry[38] & 0x10 != 0 { marks.append((place + 38, entry[38] & ~0x10)) }
        if entry[41] & 0xF0 != 0x80 { marks.append((place + 41, entry[41] & 0x0F | 0x80)) }
      }
      place += 46 + Self.number(entry[28...], 2) + Self.number(entry[30...], 2) + Self.number(entry[32...], 2)
    }
    return marks
  }

  private static func number(_ bytes: ArraySlice<UInt8>, _ count: Int) -> Int64 {
    bytes.prefix(count).reversed().reduce(0) { $0 << 8 | Int64($1) }
  }
}
