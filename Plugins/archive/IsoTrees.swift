import StageKit

/// Whether all programs see the same files in an ISO 9660: it may have several trees of folders over the same bytes, and each program
/// shows one of them (ECMA-119, sections 8 and 9; ECMA-167, part 2, section 9.1, for UDF).
struct IsoTrees {
  private static let sector: Int64 = 2048
  /// Where descriptors begin, and how many are looked at.
  private static let descriptors: Range<Int64> = 16..<80

  private struct Place: Hashable {
    let block: UInt32
    let size: UInt32
  }

  private let attachment: Attachment
  /// Files and folders that are looked at, of all trees.
  private var left: Int64
  /// How many files with a content of their own there are.
  private(set) var files: Int64 = 0
  /// Whether one lies in pieces, each of which counts.
  private(set) var hasPieces = false

  init(_ attachment: Attachment, most: Int64) { (self.attachment, left) = (attachment, most) }

  /// What is wrong; `nil`: nothing.
  mutating func fault() throws(Outcome) -> String? {
    var first: Set<Place>?
    for number in Self.descriptors {
      let bytes = try attachment.read(Int(Self.sector), at: number * Self.sector)
      if bytes.count < Self.sector { break }
      let name = bytes[1..<6]
      if name.elementsEqual("NSR02".utf8) || name.elementsEqual("NSR03".utf8) {
        return "it has a second tree, in UDF, which libarchive does not read"
      }
      guard name.elementsEqual("CD001".utf8), bytes[0] == 1 || bytes[0] == 2 else { continue }
      guard let files = try files(of: [UInt8](bytes)) else { return "a folder in it cannot be read" }
      if let first, first != files { return "its trees do not have the same files" }
      first = files
      self.files = Int64(files.count)
    }
    return nil
  }

  /// Where the files of the tree of a volume lie; `nil`: a folder is cut, or there are too many.
  private mutating func files(of volume: [UInt8]) throws(Outcome) -> Set<Place>? {
    let block = Int64(Self.number(volume, 128, 2))
    var files: Set<Place> = []
    var seen: Set<Place> = []
    var open = [Place(block: Self.number(volume, 158, 4), size: Self.number(volume, 166, 4))]
    while let folder = open.popLast(), !attachment.isCancelled {
      guard seen.insert(folder).inserted else { continue }
      var place = Int64(folder.block) * block
      let end = place + Int64(folder.size)
      while place < end {
        // No record goes on in the next sector.
        let bytes = [UInt8](try attachment.read(Int(min(Self.sector, end - place)), at: place))
        if bytes.isEmpty { return nil }
        place += Self.sector
        var start = 0
        while start + 33 < bytes.count, bytes[start] > 33 {
          left -= 1
          if left < 0 { return nil }
          let found = Place(block: Self.number(bytes, start + 2, 4), size: Self.number(bytes, start + 10, 4))
          // Of one letter, 0 and 1: the folder itself, and the one above.
          let isOwn = bytes[start + 32] == 1 && bytes[start + 33] <= 1
          if bytes[start + 25] & 2 != 0 {
            if !isOwn { open.append(found) }
          } else if found.size > 0 {
            if bytes[start + 25] & 0x80 != 0 { hasPieces = true }
            files.insert(found)
          }
          start += Int(bytes[start])
        }
      }
    }
    return files
  }

  /// The lowest byte first.
  private static func number(_ bytes: [UInt8], _ index: Int, _ count: Int) -> UInt32 {
    bytes[index..<(index + count)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}
