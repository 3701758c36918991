import Glibc
import Testing

@testable import Control

/// A client of the control socket that reads late.
struct ControlClientTests {
  @Test func anAnswerThatASocketDoesNotTakeAtOnceIsSentWhole() throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    var client = ControlServer.Client(descriptor: ends[0])
    let message = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0) }
    let frame = ControlMessage.framed(message)
    let isThere = client.send(message)
    #expect(isThere)
    #expect(!client.unsent.isEmpty, "the socket takes less at once")
    var heard: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while heard.count < frame.count {
      let count = read(ends[1], &piece, piece.count)
      try #require(count > 0)
      heard += piece[..<count]
      let isStillThere = client.sendRest()
      try #require(isStillThere)
    }
    #expect(heard == frame)
  }

  /// The unread bytes are bounded.
  @Test func aClientThatReadsNothingIsGivenUp() throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    var client = ControlServer.Client(descriptor: ends[0])
    let message = [UInt8](repeating: 7, count: 4_000_000)
    var sent = 0
    while sent < 10, client.send(message) { sent += 1 }
    #expect((3...5).contains(sent), "\(sent)")
  }
}
