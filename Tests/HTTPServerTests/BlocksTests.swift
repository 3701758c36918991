@testable import HTTPServer
import Testing

/// What is read once is copied only where it is short, or the rest of what another has kept.
struct BlocksTests {
  private let long = Server.longRead
  private let short = Server.shortRead

  @Test func aLongPartStaysWhereItWasRead() throws {
    let blocks = Blocks()
    let first = Self.read(blocks, 1)
    let part = UnsafeRawBufferPointer(rebasing: first[100..<(100 + short)])
    let block = blocks.block(part)
    #expect(block.bytes.baseAddress == part.baseAddress && block.bytes.count == short)
    // The next read leaves it alone.
    let second = Self.read(blocks, 2)
    #expect(second.baseAddress != first.baseAddress)
    #expect(block.bytes.allSatisfy { $0 == 1 })
    // Of the same read another part is copied.
    let rest = blocks.block(UnsafeRawBufferPointer(rebasing: first[(100 + short)...]))
    #expect(rest.bytes.count == long - short - 100 && rest.bytes.allSatisfy { $0 == 1 })
    #expect(rest.bytes.baseAddress != second.baseAddress)
    block.shorten(to: 10)
    #expect(block.bytes.baseAddress == part.baseAddress && block.bytes.count == 10)
  }

  @Test func aShortPartIsCopied() throws {
    let blocks = Blocks()
    let read = Self.read(blocks, 1)
    let block = blocks.block(UnsafeRawBufferPointer(rebasing: read[..<(short - 1)]))
    #expect(block.bytes.baseAddress != read.baseAddress && block.bytes.count == short - 1)
    #expect(Self.read(blocks, 2).baseAddress == read.baseAddress)
    #expect(block.bytes.allSatisfy { $0 == 1 })
    #expect(blocks.block(UnsafeRawBufferPointer(start: nil, count: 0)).bytes.isEmpty)
  }

  /// A read that follows may go into a block that was given back, and into no other.
  @Test func blocksAreUsedAgainOnceTheyAreGivenBack() throws {
    let blocks = Blocks()
    var kept: [Block] = []
    for byte in UInt8(0)..<40 { kept.append(blocks.block(Self.read(blocks, byte))) }
    for (byte, block) in kept.enumerated() { #expect(block.bytes.allSatisfy { $0 == UInt8(byte) }) }
    #expect(Set(kept.map { $0.bytes.baseAddress }).count == 40)
    let places = Set(kept.map { $0.bytes.baseAddress })
    kept.forEach(blocks.giveBack)
    kept = []
    _ = blocks.block(Self.read(blocks, 1))
    #expect(places.contains(Self.read(blocks, 2).baseAddress))
  }

  /// All of the room, filled with a byte.
  private static func read(_ blocks: Blocks, _ byte: UInt8) -> UnsafeRawBufferPointer {
    var read = UnsafeRawBufferPointer(start: nil, count: 0)
    blocks.read { room in
      room.initializeMemory(as: UInt8.self, repeating: byte)
      read = UnsafeRawBufferPointer(room)
    }
    return read
  }
}
