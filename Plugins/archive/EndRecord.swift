import StageKit

/// The record at the end of a ZIP that says where its directory lies (APPNOTE.TXT, sections 4.3.12 to 4.3.16). Programs look for the
/// last one in the last 64 KB; libarchive looks in the last 16 KB only.
struct EndRecord {
  static let size = 22
  private static let longestComment = 65_535

  /// What a record says of the directory.
  struct Claim {
    /// Where the directory ends: where the record begins.
    let end: Int64
    let size: Int64
    let offset: Int64
    let count: Int64
    /// How far the offsets that the ZIP tells lie before the true places, by the record's own; `nil`: it tells none.
    var shift: Int64?
  }

  /// Where the ZIP begins: there may be other bytes in front.
  let start: Int64
  /// Where it ends, but for its comment.
  let end: Int64
  /// Where a directory was found by one of the claims.
  let directory: Int64
  /// Where programs may look for the directory.
  let places: [Int64]
  /// The claim of the ZIP64 record, if there is one, otherwise of the record itself.
  let claim: Claim
  /// What contradicts itself in the records; `nil`: nothing.
  let fault: String?

  /// The last one that leads to a directory with entries or to a first entry, or that stands behind an entry of a directory; `nil`:
  /// there is none.
  init?(_ attachment: Attachment) throws(Outcome) {
    let length = min(attachment.size, Int64(Self.size + Self.longestComment))
    let first = attachment.size - length
    let tail = [UInt8](try attachment.read(Int(length), at: first))
    guard tail.count >= Self.size else { return nil }
    let whole = Self.directories(in: tail, from: first)
    for place in stride(from: tail.count - Self.size, through: 0, by: -1)
    where tail[place] == 0x50 && tail[place...].starts(with: ZipSignature.end) {
      let record = first + Int64(place)
      let bytes = tail[place..<(place + Self.size)]
      let small = Claim(
        end: record, size: zipNumber(bytes, at: 12, 4), offset: zipNumber(bytes, at: 16, 4),
        count: zipNumber(bytes, at: 10, 2))
      let large = try LargeRecord(attachment, before: record)
      for claim in [large?.claim, small].compactMap({ $0 }) {
        guard let found = try Self.find(claim, whole[claim.end], attachment) else { continue }
        places = [claim.end - claim.size, found.directory, whole[claim.end] ?? -1].filter { $0 >= 0 }
        (start, directory, end) = (found.start, found.directory, record + Int64(Self.size))
        self.claim = large?.claim ?? small
        fault = Self.fault(small, countHere: zipNumber(bytes, at: 8, 2), large)
        return
      }
    }
    return nil
  }

  /// Where directories begin, by their ends: each of their entries ends where the next begins. Those who repair a ZIP look for them,
  /// whatever its end record says.
  private static func directories(in tail: [UInt8], from first: Int64) -> [Int64: Int64] {
    var starts: [Int64: Int64] = [:]
    for place in tail.indices.dropLast(46)
    where tail[place] == 0x50 && tail[place...].starts(with: ZipSignature.entry) {
      let start = first + Int64(place)
      let end = start + Int64(sizeOfEntry(tail[place...]))
      // The first of those that end here: the others lie in it.
      if starts[end] == nil { starts[end] = starts[start] ?? start }
    }
    return starts
  }

  /// Where the directory and the ZIP begin by a claim; `nil`: there are none.
  private static func find(_ claim: Claim, _ whole: Int64?, _ attachment: Attachment) throws(Outcome) -> (
    start: Int64, directory: Int64
  )? {
    guard claim.offset >= 0, claim.size >= 0 else { return nil }
    let told = claim.end - claim.size
    for directory in [told, claim.offset] where directory >= 0 && directory < claim.end {
      if try attachment.read(4, at: directory) == ZipSignature.entry {
        return (max(directory - claim.offset, 0), directory)
      }
    }
    let start = told &- claim.offset
    if told >= 0, start >= 0, try attachment.read(4, at: start) == ZipSignature.local { return (start, told) }
    return whole.map { (max($0 - claim.offset, 0), $0) }
  }

  /// Bytes of an entry of the directory, as its header says.
  static func sizeOfEntry(_ header: ArraySlice<UInt8>) -> Int {
    46 + [28, 30, 32].reduce(0) { $0 + Int(zipNumber(header, at: $1, 2)) }
  }

  /// A field of the small record is that of the ZIP64 record, or has all bits set (4.4.1.4): programs read the one or the other.
  private static func fault(_ small: Claim, countHere: Int64, _ large: LargeRecord?) -> String? {
    guard let large else {
      return countHere == small.count ? nil : "its end record gives two numbers of entries"
    }
    guard let claim = large.claim else { return "its ZIP64 end record is not where it must be" }
    let agrees =
      [claim.count, 0xFFFF].contains(small.count) && [claim.count, 0xFFFF].contains(countHere)
      && [claim.size, 0xFFFF_FFFF].contains(small.size) && [claim.offset, 0xFFFF_FFFF].contains(small.offset)
    return agrees ? nil : "its two end records contradict each other"
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
      // libarchive does not know the directory's signature: to it, the end begins there.
      if entry.starts(with: ZipSignature.digitalSignature) { marks.append((place + 3, ZipSignature.end[3])) }
      guard entry.count == 46, entry.starts(with: ZipSignature.entry) else { break }
      // Nothing is two bytes where it is deflated.
      if zipNumber(entry[...], at: 24, 4) > 0 || zipNumber(entry[...], at: 20, 4) > 2 {
        if entry[38] & 0x10 != 0 { marks.append((place + 38, entry[38] & ~0x10)) }
        if entry[41] & 0xF0 != 0x80 { marks.append((place + 41, entry[41] & 0x0F | 0x80)) }
      }
      place += Int64(Self.sizeOfEntry(entry[...]))
    }
    return marks
  }
}

/// The end record of a ZIP64, and its locator between it and the small end record (4.3.14, 4.3.15).
private struct LargeRecord {
  private static let size: Int64 = 56
  private static let locatorSize: Int64 = 20

  /// `nil`: the locator leads to no record that ends where the locator begins.
  let claim: EndRecord.Claim?

  /// `nil`: there is no locator.
  init?(_ attachment: Attachment, before record: Int64) throws(Outcome) {
    let end = record - Self.locatorSize
    guard end >= 0 else { return nil }
    let locator = try attachment.read(Int(Self.locatorSize), at: end)
    guard locator.starts(with: ZipSignature.locator) else { return nil }
    let told = zipNumber(locator[...], at: 8, 8)
    // With other bytes in front, the locator's offset may count from the beginning of the ZIP. The record is then without the
    // data that may follow its fields.
    for place in [told, end - Self.size] where told >= 0 && place >= told && place <= end - Self.size {
      let bytes = try attachment.read(Int(Self.size), at: place)
      guard bytes.starts(with: ZipSignature.largeEnd) else { continue }
      // The size leaves out the signature and itself.
      let (size, isTooLarge) = zipNumber(bytes[...], at: 4, 8).addingReportingOverflow(12)
      guard !isTooLarge, size == end - place, bytes[24..<32] == bytes[32..<40] else { continue }
      claim = EndRecord.Claim(
        end: place, size: zipNumber(bytes[...], at: 40, 8), offset: zipNumber(bytes[...], at: 48, 8),
        count: zipNumber(bytes[...], at: 32, 8), shift: place - told)
      return
    }
    claim = nil
  }
}
