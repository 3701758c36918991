import Foundation

/// Writes streams that inflate to far more than their size (RFC 1950, RFC 1951, fixed Huffman codes): a
/// pattern, followed by repetitions of it.
struct Deflate {
  private var bytes: [UInt8] = [0x78, 0x01]
  private var accumulator: UInt64 = 0
  private var bits = 0

  /// A pattern repeated to a length, compressed once per layer, each by a factor of about 150.
  static func bomb(_ pattern: String, inflatesTo length: Int, layers: Int = 1) -> Data {
    var (head, period, count) = ([UInt8](), Array(pattern.utf8), length / pattern.utf8.count)
    var tail: [UInt8] = []
    for layer in 1...layers {
      var stream = Deflate()
      let repeats = stream.write(head, period, count, tail)
      if layer == layers { return stream.whole(repeats) }
      (head, period, count, tail) = (repeats.head, repeats.period, repeats.count, repeats.tail)
    }
    return Data()
  }

  /// A stream as it is on disk, with its middle stored as a repetition.
  private struct Repeats {
    var head: [UInt8]
    var period: [UInt8]
    var count: Int
    var tail: [UInt8]
  }

  private func whole(_ repeats: Repeats) -> Data {
    var data = Data(repeats.head)
    let chunk = Data((0..<1000).flatMap { _ in repeats.period })
    for _ in 0..<repeats.count / 1000 { data += chunk }
    for _ in 0..<repeats.count % 1000 { data += Data(repeats.period) }
    return data + Data(repeats.tail)
  }

  private mutating func write(_ head: [UInt8], _ period: [UInt8], _ count: Int, _ tail: [UInt8]) -> Repeats {
    put(0b011, 3)  // the last block, fixed codes
    head.forEach { literal($0) }
    period.forEach { literal($0) }
    // Eight matches take whole bytes, however many bits one has; the bytes of the ninth to sixteenth then
    // repeat.
    let matches = period.count * (count - 1) / 258
    for _ in 0..<8 { match(period.count) }
    let start = bytes.count
    for _ in 0..<8 { match(period.count) }
    let repeated = Array(bytes[start...])
    let times = (matches - 16) / 8
    let before = bytes
    bytes.removeAll()
    for _ in 0..<(matches - 16) % 8 { match(period.count) }
    let done = period.count + matches * 258
    for index in done..<max(period.count * count, done) { literal(period[index % period.count]) }
    tail.forEach { literal($0) }
    put(0, 7)  // end of block
    put(0, 7)  // the rest of the last byte
    // Adler-32 of the whole: no reader gets that far.
    return Repeats(head: before, period: repeated, count: times, tail: bytes + [0, 0, 0, 0])
  }

  private mutating func literal(_ byte: UInt8) {
    if byte < 144 { code(0x30 + UInt64(byte), 8) } else { code(0x190 + UInt64(byte) - 144, 9) }
  }

  /// A match of 258 bytes at this distance.
  private mutating func match(_ distance: Int) {
    code(0xC5, 8)
    // Two codes for each extra bit.
    var (base, symbol, extra) = (1, 0, 0)
    while base + (1 << extra) <= distance {
      base += 1 << extra
      symbol += 1
      if symbol >= 4 { extra = symbol / 2 - 1 }
    }
    code(UInt64(symbol), 5)
    put(UInt64(distance - base), extra)
  }

  /// Codes are written with their highest bit first.
  private mutating func code(_ value: UInt64, _ count: Int) {
    for bit in stride(from: count - 1, through: 0, by: -1) { put(value >> UInt64(bit) & 1, 1) }
  }

  private mutating func put(_ value: UInt64, _ count: Int) {
    accumulator |= value << UInt64(bits)
    bits += count
    while bits >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: accumulator))
      accumulator >>= 8
      bits -= 8
    }
  }
}
