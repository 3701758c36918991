/// Whether bytes are text that may be printed on a terminal: UTF-8 without control characters, but for tabs and the ends of
/// lines. Others could move the cursor, change the terminal's state, or show nothing that can be read.
struct PlainText {
  private(set) var isPlain = true
  /// Bytes that the character begun still needs.
  private var missing = 0
  /// The first byte of it.
  private var lead: UInt8 = 0

  /// Whether all that was added is whole.
  var isWhole: Bool { isPlain && missing == 0 }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes where isPlain { add(byte) }
  }

  private mutating func add(_ byte: UInt8) {
    if missing > 0 {
      // U+0080 to U+009F are control characters, too.
      isPlain = byte & 0xC0 == 0x80 && !(lead == 0xC2 && byte < 0xA0)
      missing -= 1
      lead = 0
      return
    }
    lead = byte
    switch byte {
    case 0x09, 0x0A, 0x0D, 0x20..<0x7F: break
    case 0xC2...0xDF: missing = 1
    case 0xE0...0xEF: missing = 2
    case 0xF0...0xF4: missing = 3
    default: isPlain = false
    }
  }
}
