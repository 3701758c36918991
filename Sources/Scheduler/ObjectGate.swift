/// Keeps equal contents from being stored side by side.
///
/// The first attachment on its way to the store with a content goes ahead; others with the same content wait for it, and
/// are then linked to its object. Values only; the scheduler acts on the answers.
struct ObjectGate {
  private enum State {
    /// Being stored; those who wait, by serial.
    case underway(waiting: [UInt64])
    /// Stored at this path, and not yet on record.
    case stored(String)
  }

  private var states: [String: State] = [:]

  enum Admission: Equatable {
    /// The first: ask the ledger for an object of an earlier time, then go.
    case first
    /// Go, and link to this object.
    case twin(String)
    /// Wait for the first.
    case wait
  }

  mutating func enter(_ sha256: String, _ serial: UInt64) -> Admission {
    switch states[sha256] {
    case nil:
      states[sha256] = .underway(waiting: [])
      return .first
    case .stored(let path):
      return .twin(path)
    case .underway(let waiting):
      states[sha256] = .underway(waiting: waiting + [serial])
      return .wait
    }
  }

  /// The first is done with the store. Those who waited may go: with a path all of them, without one the next first.
  mutating func leave(_ sha256: String, path: String?) -> (twins: [UInt64], next: UInt64?) {
    guard case .underway(let waiting) = states[sha256] else { return ([], nil) }
    if let path {
      states[sha256] = .stored(path)
      return (waiting, nil)
    }
    guard let next = waiting.first else {
      states[sha256] = nil
      return ([], nil)
    }
    states[sha256] = .underway(waiting: Array(waiting.dropFirst()))
    return ([], next)
  }

  /// The object is on record: the ledger knows it from now on.
  mutating func forget(_ sha256: String) {
    if case .stored = states[sha256] { states[sha256] = nil }
  }
}
