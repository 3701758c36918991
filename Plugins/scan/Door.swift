import CPlatform
import Glibc
import StageKit

/// The connection to a Unix socket through the host: a process of the host connects to that one path and
/// passes the connection on. See `door.h`.
final class Door {
  private let path: String
  private let socket: Int32
  private var number: UInt8 = 0

  init(to path: String, _ opening: Opening) throws(Outcome) {
    self.path = path
    guard let socket = opening.door(to: path) else {
      throw .fail(
        "invalid-options", "there is no way to the socket \(path): \(String(cString: strerror(errno)))")
    }
    self.socket = socket
  }

  deinit {
    close(socket)
  }

  func connect(by deadline: Deadline) throws(Outcome) -> Connection {
    while true {
      let (connection, error) = try ask(by: deadline)
      if connection >= 0 { return Connection(owning: connection) }
      // unix(7) offers no way to wait for room in the listener's queue.
      guard error == EAGAIN else {
        throw .unavailable("connecting to \(path): \(String(cString: strerror(error)))")
      }
      guard !deadline.hasPassed else { throw .unavailable("\(path) took no connection in time") }
      poll(nil, 0, min(20, deadline.remaining))
    }
  }

  /// A connection, or -1 and an errno.
  private func ask(by deadline: Deadline) throws(Outcome) -> (connection: Int32, error: Int32) {
    number &+= 1
    let hasEnded = Outcome.unavailable("the process that connects to \(path) has ended")
    guard sluice_door_ask(socket, number) == 0 else { throw hasEnded }
    while true {
      var connection: Int32 = -1
      var error: Int32 = 0
      switch sluice_door_take(socket, number, &connection, &error) {
      case 1: return (connection, error)
      case 0: break
      default: throw hasEnded
      }
      guard !deadline.hasPassed else { throw .unavailable("connecting to \(path) took too long") }
      var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      poll(&state, 1, deadline.remaining)
    }
  }
}
