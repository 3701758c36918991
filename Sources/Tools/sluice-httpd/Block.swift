import HTTPServer

/// Bytes of a body on their way to a file.
///
/// Unchecked because one thread has it at a time: the loop fills it, one thread writes it, another hashes it, and the loop has it back.
final class Block: @unchecked Sendable {
  private let room: UnsafeMutableRawBufferPointer
  private var count = 0

  fileprivate init(capacity: Int) { room = .allocate(byteCount: capacity, alignment: 16) }

  deinit { room.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[..<count]) }

  fileprivate var isLong: Bool { room.count == Blocks.long }

  fileprivate func fill(_ bytes: UnsafeRawBufferPointer) {
    room.copyMemory(from: bytes)
    count = bytes.count
  }

  /// Takes away all bytes but the first.
  func shorten(to count: Int) { self.count = count }
}

/// Blocks that are used again: to have the kernel clear new memory for each part of a long body costs more than to copy it. Used by the
/// loop.
struct Blocks {
  private var spare: [Block] = []

  /// Bytes of a block that is kept. What comes slowly has blocks of its own length: they may be many.
  fileprivate static let long = Server.longRead
  private static let few = Server.shortRead
  private static let mostSpare = 16

  /// A block with these bytes; at most as many as one read brings.
  mutating func block(_ bytes: UnsafeRawBufferPointer) -> Block {
    let block =
      bytes.count < Self.few || bytes.count > Self.long
      ? Block(capacity: bytes.count) : spare.popLast() ?? Block(capacity: Self.long)
    block.fill(bytes)
    return block
  }

  /// It is not needed any more.
  mutating func giveBack(_ block: Block) {
    if block.isLong && spare.count < Self.mostSpare { spare.append(block) }
  }
}
