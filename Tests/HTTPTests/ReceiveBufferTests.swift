import Glibc
import Testing

@testable import HTTPSource

/// The kernel's room for what a connection receives.
struct ReceiveBufferTests {
  /// Whether the kernel may not change the room of a socket; `nil`: it cannot say.
  private static func isLocked(_ socket: Int32) -> Bool? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    // SO_BUF_LOCK with SOCK_RCVBUF_LOCK, socket(7).
    return getsockopt(socket, SOL_SOCKET, 72, &value, &length) == 0 ? value & 2 != 0 : nil
  }

  @Test func theRoomOfWhatStandsStillDoesNotGrow() throws {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(connection) }
    guard let before = Self.isLocked(connection) else { return }
    #expect(!before)
    ReceiveBuffer.keep(true, of: connection)
    #expect(Self.isLocked(connection) == true)
    ReceiveBuffer.keep(false, of: connection)
    #expect(Self.isLocked(connection) == false)
  }
}
