import Wire

/// Files that wait until nothing has happened to them for a while.
struct QuietFiles {
  private struct Waiting {
    var file: FileState
    /// In nanoseconds of the monotonic clock.
    var dueAt: UInt64
    /// The last that the kernel said is that it is being written.
    var isWritten: Bool
  }

  /// In nanoseconds.
  let period: UInt64
  private var waiting: [[UInt8]: Waiting] = [:]
  /// No file is due before; `nil`: it has to be looked for.
  private var earliest: UInt64? = .max

  init(period: UInt64) {
    self.period = period
  }

  /// Begins to wait, or begins anew.
  ///
  /// - Parameter isWritten: the kernel says that it is being written; `nil`: it says nothing.
  mutating func add(_ path: [UInt8], _ file: FileState, isWritten: Bool?, at now: UInt64) {
    let before = waiting[path]?.isWritten ?? false
    waiting[path] = Waiting(file: file, dueAt: now + period, isWritten: isWritten ?? before)
    earliest = earliest.map { min($0, now + period) }
  }

  /// When the next is due, in nanoseconds of the monotonic clock; `nil`: none waits.
  mutating func nextDue() -> UInt64? {
    if waiting.isEmpty { return nil }
    let next = earliest ?? waiting.values.lazy.map(\.dueAt).min() ?? .max
    earliest = next
    return next
  }

  /// Takes out those that are due, with what they were when they began to wait.
  mutating func takeDue(at now: UInt64) -> [(path: [UInt8], file: FileState, isWritten: Bool)] {
    guard let next = nextDue(), next <= now else { return [] }
    let due = waiting.filter { $0.value.dueAt <= now }
    for path in due.keys { waiting[path] = nil }
    earliest = nil
    return due.map { ($0.key, $0.value.file, $0.value.isWritten) }
      .sorted { $0.path.lexicographicallyPrecedes($1.path) }
  }
}
