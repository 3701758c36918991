/// Decodes Base64 (RFC 4648, section 4) as it comes, piece by piece. Line ends (CR, LF) are skipped, as MIME writes them; any
/// other character outside the alphabet, wrong or missing padding, and bits that stand for nothing are faults.
struct Base64Decoder {
  struct Fault: Error, Equatable {
    let reason: String
  }

  private var bits: UInt32 = 0
  /// Characters of the group at hand, padding included.
  private var count = 0
  private var padding = 0
  private var isOver = false

  /// The most bytes that so many characters make.
  static func room(for count: Int) -> Int { (count + 3) / 4 * 3 }

  /// Decodes characters into a room of at least ``room(for:)`` bytes, and returns how many bytes those are.
  mutating func decode(
    _ characters: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var place = 0
    for character in characters {
      let value = Self.values[Int(character)]
      if value < 64 {
        if isOver || padding > 0 { throw Fault(reason: "something follows the padding") }
        bits = bits << 6 | UInt32(value)
      } else if value == Self.skipped {
        continue
      } else if value == Self.pad {
        if isOver || count < 2 { throw Fault(reason: "there is padding in the wrong place") }
        padding += 1
        bits <<= 6
      } else {
        throw Fault(reason: "it has a character that Base64 does not have")
      }
      count += 1
      if count < 4 { continue }
      let unused: UInt32 = padding == 2 ? 0xFFFF : padding == 1 ? 0xFF : 0
      if bits & unused != 0 { throw Fault(reason: "its last character has bits that stand for nothing") }
      room[place] = UInt8(truncatingIfNeeded: bits >> 16)
      if padding < 2 { room[place + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
      if padding < 1 { room[place + 2] = UInt8(truncatingIfNeeded: bits) }
      place += 3 - padding
      isOver = padding > 0
      (bits, count, padding) = (0, 0, 0)
    }
    return place
  }

  /// Throws if the last group is not complete.
  func finish() throws(Fault) {
    if count != 0 { throw Fault(reason: "its last group is not complete") }
  }

  private static let pad: UInt8 = 64
  private static let skipped: UInt8 = 65
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
      .enumerated()
    {
      values[Int(character)] = UInt8(value)
    }
    values[Int(UInt8(ascii: "="))] = pad
    values[0x0A] = skipped
    values[0x0D] = skipped
    return values
  }()
}
