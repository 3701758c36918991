/// The bytes of a page of a b-tree that hold nothing (https://sqlite.org/fileformat2.html, section 1.6).
///
/// `secure_delete` overwrites rows that are deleted. But where a page was split, or its rows were moved together, copies of rows stay
/// between its list of cells and the first of them, until others are written there.
enum BTreePage {
  /// The header of the file comes before that of the first page.
  private static let fileHeader = 100

  /// Overwrites what is in no cell with zeros. A page of another kind, or one whose header makes no sense, stays as it is.
  ///
  /// - Parameter usable: the bytes of a page that SQLite uses.
  /// - Returns: whether anything was there.
  static func erase(_ page: UnsafeMutableRawBufferPointer, isFirst: Bool, usable: Int) -> Bool {
    let header = isFirst ? fileHeader : 0
    let width: Int
    switch page[header] {
    case 2, 5: width = 12  // of an index, of a table: with the page of the greatest keys
    case 10, 13: width = 8  // their leaves
    default: return false
    }
    let cells = header + width + 2 * number(page, header + 3)
    let content = number(page, header + 5) == 0 ? 65_536 : number(page, header + 5)
    guard cells <= content, content <= usable, usable <= page.count else { return false }
    var isFound = clear(page, cells..<content)
    // Free blocks: the place of the next, the length of this one, and what was there.
    var block = number(page, header + 1)
    var end = content
    while block != 0 {
      guard block >= end, block + 4 <= usable else { break }
      let length = number(page, block + 2)
      guard length >= 4, block + length <= usable else { break }
      end = block + length
      if clear(page, block + 4..<end) { isFound = true }
      block = number(page, block)
    }
    return isFound
  }

  private static func number(_ page: UnsafeMutableRawBufferPointer, _ offset: Int) -> Int {
    Int(page[offset]) << 8 | Int(page[offset + 1])
  }

  private static func clear(_ page: UnsafeMutableRawBufferPointer, _ range: Range<Int>) -> Bool {
    let part = UnsafeMutableRawBufferPointer(rebasing: page[range])
    if part.allSatisfy({ $0 == 0 }) { return false }
    part.initializeMemory(as: UInt8.self, repeating: 0)
    return true
  }
}
