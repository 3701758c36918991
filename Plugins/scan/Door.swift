import CPlatform
import Glibc
import StageKit

/// The connection to a Unix socket through the host: a process of the host connects to that one path and
/// passes the connection on. See `door.h`.
final class Door {
  let path: String
  /// Readable when an answer waits.
  let socket: Int32
  private var lastNumber: UInt8 = 0
  /// Questions without an answer. A late answer to another is dropped.
  private var asked: Set<UInt8> = []
  private var answers: [UInt8: Answer] = [:]
  private var hasEnded = false

  enum Answer {
    case connected(Connection)
    /// An errno.
    case failed(Int32)
  }

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

  /// Asks for a connection. ``answer(to:)`` has it once ``collect()`` has found it.
  func ask() throws(Outcome) -> UInt8 {
    lastNumber &+= 1
    guard sluice_door_ask(socket, lastNumber) == 0 else { throw ended }
    asked.insert(lastNumber)
    return lastNumber
  }

  /// Takes all answers that have come.
  func collect() {
    var (number, connection, error): (UInt8, Int32, Int32) = (0, -1, 0)
    while !hasEnded {
      switch sluice_door_take(socket, &number, &connection, &error) {
      case 1:
        let answer = connection >= 0 ? Answer.connected(Connection(owning: connection)) : .failed(error)
        if asked.remove(number) != nil { answers[number] = answer }
      case 0: return
      default: hasEnded = true
      }
    }
  }

  /// `nil`: it has not come yet.
  func answer(to number: UInt8) throws(Outcome) -> Answer? {
    if let answer = answers.removeValue(forKey: number) { return answer }
    if hasEnded { throw ended }
    return nil
  }

  /// The answer to this question is of no use any more.
  func forget(_ number: UInt8) {
    asked.remove(number)
    answers[number] = nil
  }

  private var ended: Outcome { .unavailable("the process that connects to \(path) has ended") }
}
