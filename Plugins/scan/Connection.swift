import Glibc
import StageKit

/// A non-blocking stream to the scanner; closed on deinitialization.
final class Connection {
  private let socket: Int32

  init(owning socket: Int32) {
    self.socket = socket
  }

  deinit {
    close(socket)
  }

  /// Connects to an Internet address; returns an errno on failure.
  func open(to address: [UInt8], by deadline: Deadline) throws(Outcome) -> Int32 {
    // Otherwise a small write after another waits for an acknowledgement, some 40 ms.
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    let result = address.withUnsafeBytes {
      connect(socket, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    if result == 0 { return 0 }
    // "The connection is established asynchronously" after EINTR too (POSIX, connect()).
    guard errno == EINPROGRESS || errno == EINTR else { return errno }
    _ = try wait(for: POLLOUT, by: deadline, else: "no connection in time")
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno
  }

  /// Sends everything. False: the scanner replied or closed the connection first; its reply can be read.
  func send(_ bytes: ArraySlice<UInt8>, by deadline: Deadline) throws(Outcome) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let ready = try wait(for: POLLIN | POLLOUT, by: deadline, else: "the scanner took no more in time")
      if ready & Int16(POLLIN | POLLHUP | POLLERR) != 0 { return false }
      let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE || errno == ECONNRESET {
        return false
      } else if errno != EINTR && errno != EAGAIN {
        throw .unavailable("sending: \(String(cString: strerror(errno)))")
      }
    }
    return true
  }

  /// Reads to the end, at most `limit` bytes; a longer reply is invalid. A reset connection counts as the
  /// end: over its limit, clamd closes with content unread, and the reply it sent before can still be read.
  func receive(atMost limit: Int, by deadline: Deadline) throws(Outcome) -> [UInt8] {
    var answer: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4096)
    while true {
      _ = try wait(for: POLLIN, by: deadline, else: "the scanner did not answer in time")
      let count = recv(socket, &room, room.count, 0)
      if count == 0 { return answer }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        if errno == ECONNRESET || errno == EPIPE { return answer }
        throw .unavailable("receiving: \(String(cString: strerror(errno)))")
      }
      guard answer.count + count <= limit else {
        throw .unavailable("the scanner's answer is longer than \(limit) bytes")
      }
      answer += room[..<count]
    }
  }

  /// Waits for poll(2), and returns its events.
  private func wait(
    for events: Int32, by deadline: Deadline, else reason: String
  ) throws(Outcome) -> Int16 {
    while true {
      // Checked here and not only by poll: a peer that sends a byte now and then would never time out.
      guard !deadline.hasPassed else { throw .unavailable(reason) }
      var state = pollfd(fd: socket, events: Int16(events), revents: 0)
      let count = poll(&state, 1, deadline.remaining)
      if count > 0 { return state.revents }
      if count < 0 && errno != EINTR {
        throw .unavailable("waiting for the scanner: \(String(cString: strerror(errno)))")
      }
    }
  }
}
