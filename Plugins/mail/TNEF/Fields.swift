/// Reads numbers, least significant byte first, and bytes in the order in which they lie.
struct Fields {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// What is read ends before it should.
  struct Cut: Error {}

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var left: Int { bytes.count - position }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) throws(Cut) -> Number {
    let bytes = try bytes(MemoryLayout<Number>.size)
    return Number(littleEndian: bytes.loadUnaligned(as: Number.self))
  }

  mutating func bytes(_ count: Int) throws(Cut) -> UnsafeRawBufferPointer {
    guard 0...left ~= count else { throw Cut() }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)])
  }

  /// What fills up a value of `count` bytes to a multiple of four; at the very end it may be left out.
  mutating func skipPadding(behind count: Int) {
    position += min((4 - count % 4) % 4, left)
  }
}
