import StageKit

/// The central directory of a ZIP (APPNOTE.TXT, 4.3), which programs trust more than the order of the entries.
struct ZipDirectory {
  struct Entry {
    /// In lower case, with slashes and without a leading one. Office compares names without case.
    let name: String
    let method: Int
    let isEncrypted: Bool
    let compressedSize: Int64
    /// Of the local header, from the beginning of the file.
    let offset: Int64
  }

  let entries: [Entry]

  /// The largest directory that is read, in bytes: about 200,000 entries.
  private static let limit = 16 << 20
  /// The longest name that is of interest here.
  private static let longestName = 512

  /// `nil`: there is no directory, it is damaged, or too large.
  init?(_ attachment: Attachment) throws(Outcome) {
    guard let place = try Self.place(attachment), place.size <= Self.limit,
      let entries = Self.entries(Bytes(try attachment.read(Int(place.size), at: place.start)), place)
    else { return nil }
    self.entries = entries
  }

  /// Where the data of an entry begins; `nil` where there is no local header.
  static func data(of entry: Entry, _ attachment: Attachment) throws(Outcome) -> Int64? {
    let header = Bytes(try attachment.read(30, at: entry.offset))
    guard header.number(4, at: 0) == 0x0403_4B50, let name = header.number(2, at: 26),
      let extra = header.number(2, at: 28)
    else { return nil }
    return entry.offset + 30 + Int64(name) + Int64(extra)
  }

  // MARK: The end of the file

  private struct Place {
    let start: Int64
    let size: Int64
    /// What stands before the archive: offsets in the directory do not count it.
    let shift: Int64

    /// - Parameter end: the place of the record that follows the directory.
    init?(size: Int, begin: Int, end: Int64) {
      let (size, begin) = (Int64(size), Int64(begin))
      // An archive without entries is none of the kinds that are sought.
      guard 0...end ~= size, size > 0, 0...(end - size) ~= begin else { return nil }
      (start, self.size, shift) = (end - size, size, end - size - begin)
    }
  }

  /// A comment of up to 65,535 bytes may follow the end record, and have the signature in it.
  private static func place(_ attachment: Attachment) throws(Outcome) -> Place? {
    let length = min(attachment.size, 22 + 65_535)
    let start = attachment.size - length
    let tail = Bytes(try attachment.read(Int(length), at: start))
    for offset in stride(from: tail.count - 22, through: 0, by: -1)
    where tail.number(4, at: offset) == 0x0605_4B50 {
      let end = start + Int64(offset)
      guard let size = tail.number(4, at: offset + 12), let begin = tail.number(4, at: offset + 16) else {
        continue
      }
      if size == 0xFFFF_FFFF || begin == 0xFFFF_FFFF {
        if let place = try longPlace(attachment, end) { return place }
      } else if let place = Place(size: size, begin: begin, end: end) {
        return place
      }
    }
    return nil
  }

  /// By the records of ZIP64 before the end record.
  private static func longPlace(_ attachment: Attachment, _ end: Int64) throws(Outcome) -> Place? {
    guard end >= 20 else { return nil }
    let locator = Bytes(try attachment.read(20, at: end - 20))
    guard locator.number(4, at: 0) == 0x0706_4B50, let said = locator.number(8, at: 8) else { return nil }
    // Where something stands before the archive, the record is found behind the place that is told.
    for record in [Int64(said), end - 20 - 56] where 0...(end - 20) ~= record {
      let bytes = Bytes(try attachment.read(56, at: record))
      guard bytes.number(4, at: 0) == 0x0606_4B50, let size = bytes.number(8, at: 40),
        let begin = bytes.number(8, at: 48)
      else { continue }
      return Place(size: size, begin: begin, end: record)
    }
    return nil
  }

  // MARK: The directory

  private static func entries(_ bytes: Bytes, _ place: Place) -> [Entry]? {
    var entries: [Entry] = []
    var at = 0
    while at < bytes.count {
      guard bytes.number(4, at: at) == 0x0201_4B50, let flags = bytes.number(2, at: at + 8),
        let method = bytes.number(2, at: at + 10), var size = bytes.number(4, at: at + 20),
        let wholeSize = bytes.number(4, at: at + 24), let nameLength = bytes.number(2, at: at + 28),
        let extraLength = bytes.number(2, at: at + 30), let commentLength = bytes.number(2, at: at + 32),
        var offset = bytes.number(4, at: at + 42)
      else { return bytes.number(4, at: at) == 0x0505_4B50 ? entries : nil }  // A signature may follow.
      let (name, extra) = (at + 46, at + 46 + nameLength)
      at = extra + extraLength + commentLength
      guard at <= bytes.count else { return nil }
      if size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF {
        // The sizes of ZIP64, of which only those are there that the entry refers to (APPNOTE.TXT, 4.5.3).
        var field = bytes.field(0x0001, from: extra, to: extra + extraLength) ?? extra + extraLength
        if wholeSize == 0xFFFF_FFFF { field += 8 }
        if size == 0xFFFF_FFFF {
          size = bytes.number(8, at: field) ?? -1
          field += 8
        }
        if offset == 0xFFFF_FFFF { offset = bytes.number(8, at: field) ?? -1 }
      }
      guard size >= 0, 0..<place.start ~= Int64(offset) &+ place.shift else { return nil }
      if nameLength > Self.longestName { continue }
      entries.append(
        Entry(
          name: bytes.name(from: name, to: extra), method: method, isEncrypted: flags & 1 != 0,
          compressedSize: Int64(size), offset: Int64(offset) + place.shift))
    }
    return entries
  }
}

/// Bytes with numbers in little-endian order.
private struct Bytes {
  private let bytes: [UInt8]
  var count: Int { bytes.count }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// `nil` beyond the end, and where a number of eight bytes is no `Int`.
  func number(_ width: Int, at start: Int) -> Int? {
    guard start >= 0, start <= bytes.count - width else { return nil }
    let value = (0..<width).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[start + $1]) }
    return Int(exactly: value)
  }

  /// The place of an extra field's content.
  func field(_ id: Int, from start: Int, to end: Int) -> Int? {
    var at = start
    while at + 4 <= end, let found = number(2, at: at), let length = number(2, at: at + 2) {
      if found == id { return at + 4 }
      at += 4 + length
    }
    return nil
  }

  func name(from start: Int, to end: Int) -> String {
    let plain = bytes[start..<end].map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
    return String(decoding: plain.drop { $0 == UInt8(ascii: "/") }, as: UTF8.self).lowercased()
  }
}
