import Glibc
import StageKit

/// A stream to the scanner; closed on deinitialization. No call waits: poll(2) tells when one gets further.
final class Connection {
  let socket: Int32

  init(owning socket: Int32) {
    self.socket = socket
  }

  deinit {
    close(socket)
  }

  /// Begins to connect to an Internet address: 0, EINPROGRESS, or why that fails.
  func open(to address: [UInt8]) -> Int32 {
    // Otherwise a small write after another waits for an acknowledgement, some 40 ms.
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    let result = address.withUnsafeBytes {
      connect(socket, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    if result == 0 { return 0 }
    // "The connection is established asynchronously" after EINTR too (POSIX, connect()).
    return errno == EINTR ? EINPROGRESS : errno
  }

  /// How connecting ended: 0, or an errno.
  func openingError() -> Int32 {
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno
  }

  /// Sends what there is room for, and returns how much that was. `nil`: the scanner closed the connection; its reply can be
  /// read.
  func send(_ bytes: ArraySlice<UInt8>) throws(Outcome) -> Int? {
    let count = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count >= 0 { return count }
    switch errno {
    case EPIPE, ECONNRESET: return nil
    case EINTR, EAGAIN: return 0
    default: throw .unavailable("sending: \(String(cString: strerror(errno)))")
    }
  }

  /// Reads what has come, at most so that `answer` has `limit` bytes; a longer reply is invalid. True: that was the end. A reset
  /// connection counts as the end: over its limit, clamd closes with content unread, and the reply it sent before can still be
  /// read.
  func receive(into answer: inout [UInt8], atMost limit: Int) throws(Outcome) -> Bool {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket, &room, room.count, 0)
    if count == 0 { return true }
    if count < 0 {
      switch errno {
      case EINTR, EAGAIN: return false
      case ECONNRESET, EPIPE: return true
      default: throw .unavailable("receiving: \(String(cString: strerror(errno)))")
      }
    }
    guard answer.count + count <= limit else {
      throw .unavailable("the scanner's answer is longer than \(limit) bytes")
    }
    answer += room[..<count]
    return false
  }
}
