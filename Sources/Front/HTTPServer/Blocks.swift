/// Bytes of a body on their way from a connection.
///
/// Unchecked because one thread has it at a time: the loop fills it, one thread writes it, another hashes it, and the loop has it back.
public final class Block: @unchecked Sendable {
  fileprivate let room: UnsafeMutableRawBufferPointer
  private var range = 0..<0

  fileprivate init(capacity: Int) { room = .allocate(byteCount: capacity, alignment: 16) }

  deinit { room.deallocate() }

  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[range]) }

  fileprivate var isLong: Bool { room.count == Blocks.long }

  fileprivate func fill(_ bytes: UnsafeRawBufferPointer) {
    room.copyMemory(from: bytes)
    range = 0..<bytes.count
  }

  /// Takes some of its room for its bytes. False: they lie elsewhere.
  fileprivate func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.baseAddress, let start = room.baseAddress else { return false }
    let place = UnsafeRawPointer(start).distance(to: first)
    guard 0..<room.count ~= place, place + bytes.count <= room.count else { return false }
    range = place..<(place + bytes.count)
    return true
  }

  /// Takes away all bytes but the first.
  public func shorten(to count: Int) { range = range.lowerBound..<(range.lowerBound + count) }
}

/// The memory that a server reads into. Long parts of a body stay where they were read, and the next read goes elsewhere. Blocks are used
/// again: to have the kernel clear new memory for each part of a long body costs more than to copy it. Used by the loop.
public final class Blocks {
  private var spare: [Block] = []
  /// What is read into.
  private var current = Block(capacity: Blocks.long)

  /// Bytes of a block that is kept. What comes slowly has blocks of its own length: they may be many.
  fileprivate static let long = Server.longRead
  private static let few = Server.shortRead
  private static let mostSpare = 16

  public init() {}

  /// Room for one read. It belongs to the caller until the next.
  func read(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(current.room) }

  /// A block with these bytes; at most as many as one read brings.
  public func block(_ bytes: UnsafeRawBufferPointer) -> Block {
    if bytes.count < Self.few || bytes.count > Self.long {
      return filled(Block(capacity: bytes.count), bytes)
    }
    let next = spare.popLast() ?? Block(capacity: Self.long)
    guard current.keep(bytes) else { return filled(next, bytes) }
    defer { current = next }
    return current
  }

  private func filled(_ block: Block, _ bytes: UnsafeRawBufferPointer) -> Block {
    block.fill(bytes)
    return block
  }

  /// It is not needed any more.
  public func giveBack(_ block: Block) {
    if block.isLong && spare.count < Self.mostSpare { spare.append(block) }
  }
}
