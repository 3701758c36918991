import LedgerPort
import Synchronization

/// Requests that wait for a change of the ledger. All threads use it.
final class ChangeWaits: Sendable {
  struct Waiting: Sendable {
    var asked: RequestDesk.Asked
    /// The ledger as the request has seen it.
    var seen: Position
    /// In nanoseconds of the monotonic clock.
    var until: UInt64
    var next: API.ChangeStep
  }

  /// By serial.
  private let waiting = Mutex<[UInt64: Waiting]>([:])

  /// Milliseconds between two looks at the ledger while requests wait.
  static let interval = 200

  var isEmpty: Bool { waiting.withLock(\.isEmpty) }

  func add(_ one: Waiting) { waiting.withLock { $0[one.asked.serial] = one } }

  func remove(_ serials: some Collection<UInt64>) {
    waiting.withLock { waiting in
      if waiting.isEmpty { return }
      for serial in serials { waiting[serial] = nil }
    }
  }

  func removeAll() { waiting.withLock { $0 = [:] } }

  /// Takes the requests from before the last change, and the overdue requests.
  func take(at position: Position, _ now: UInt64) -> [Waiting] {
    waiting.withLock { waiting in
      let due = waiting.filter { $0.value.seen != position || $0.value.until <= now }
      for serial in due.keys { waiting[serial] = nil }
      return due.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}
