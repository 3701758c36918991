/// How the parts of a ZIP begin (APPNOTE.TXT, section 4.3).
enum ZipSignature {
  static let local: [UInt8] = [0x50, 0x4B, 3, 4]
  static let entry: [UInt8] = [0x50, 0x4B, 1, 2]
  static let digitalSignature: [UInt8] = [0x50, 0x4B, 5, 5]
  static let end: [UInt8] = [0x50, 0x4B, 5, 6]
  static let largeEnd: [UInt8] = [0x50, 0x4B, 6, 6]
  static let locator: [UInt8] = [0x50, 0x4B, 6, 7]
  /// In front of the first part of a ZIP that is, or was meant to be, in several (8.5.3 to 8.5.5).
  static let marks: [[UInt8]] = [[0x50, 0x4B, 7, 8], [0x50, 0x4B, 0x30, 0x30]]
}

/// A number of so many bytes, the lowest first; negative where it does not fit. 0 past the end.
func zipNumber(_ bytes: ArraySlice<UInt8>, at offset: Int, _ count: Int) -> Int64 {
  bytes.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | Int64($1) }
}

/// The 8-byte numbers of an entry's ZIP64 field (4.5.3), in the order in which they are wanted: one for each number that has all
/// bits set where it would stand by itself.
struct LargeNumbers {
  private var rest: ArraySlice<UInt8>

  /// - Parameter extra: all extra fields of the entry.
  init(_ extra: ArraySlice<UInt8>) {
    var fields = extra
    while fields.count >= 4 {
      let size = Int(zipNumber(fields, at: 2, 2))
      if zipNumber(fields, at: 0, 2) == 1 {
        rest = fields.dropFirst(4).prefix(size)
        return
      }
      fields = fields.dropFirst(4 + size)
    }
    rest = []
  }

  /// The number itself, or the one it stands for; negative: none that a file can have.
  mutating func resolve(_ number: Int64) -> Int64 {
    guard number == 0xFFFF_FFFF, rest.count >= 8 else { return number }
    defer { rest = rest.dropFirst(8) }
    return zipNumber(rest, at: 0, 8)
  }
}
