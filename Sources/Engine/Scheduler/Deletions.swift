import Platform

/// Objects that are to be deleted from the store, since no attachment has them any more.
///
/// The ledger keeps their paths until it hears that they are gone. So nothing is lost where the process ends in between, and no
/// other object gets such a path before.
struct Deletions {
  /// Known to be deleted, in the order in which that became known.
  private var waiting: [String] = []
  private var underway: [String] = []
  private var done: [String] = []
  private var tries = 0
  /// When to go on, in milliseconds of the steady clock; 0: at once.
  private var dueAt: Int64 = 0

  /// Objects that are deleted at once, at most.
  private static let batch = 500
  /// The first wait before another try, and the longest, in milliseconds.
  private static let waits: (first: Int64, longest: Int64) = (1000, 30_000)

  /// Takes paths over that the ledger names. Those that are under way are known.
  mutating func add(_ paths: [String]) {
    if paths.isEmpty { return }
    let known = Set(waiting + underway + done)
    waiting += paths.filter { !known.contains($0) }
  }

  /// Nothing is left to do but what failed, or is held.
  var isSettled: Bool { underway.isEmpty && done.isEmpty && (waiting.isEmpty || isBehind) }
  /// A deletion has failed, and is to be tried again.
  var isBehind: Bool { dueAt > 0 }
  /// When to try again, in milliseconds of the steady clock; `nil`: nothing has failed.
  var nextTry: Int64? { isBehind && underway.isEmpty ? dueAt : nil }

  /// Whether the object at a path is to be deleted, or that is not on record yet.
  func includes(_ path: String) -> Bool {
    waiting.contains(path) || underway.contains(path) || done.contains(path)
  }

  /// The next batch, unless one is under way.
  ///
  /// - Parameter isHeld: whether something in hand relies on the object at a path, or is on its way there.
  mutating func nextBatch(at time: Int64, isHeld: (String) -> Bool) -> [String]? {
    guard underway.isEmpty, !waiting.isEmpty, dueAt <= time else { return nil }
    for path in waiting where !isHeld(path) {
      underway.append(path)
      if underway.count == Self.batch { break }
    }
    let begun = Set(underway)
    waiting.removeAll { begun.contains($0) }
    return underway.isEmpty ? nil : underway
  }

  /// Takes what became of the batch: for each path, why its object is still there. Returns the first error, where none came before.
  mutating func take(_ results: [SystemError?], at time: Int64) -> SystemError? {
    let wasBehind = isBehind
    for (path, error) in zip(underway, results) {
      if error == nil { done.append(path) } else { waiting.append(path) }
    }
    underway = []
    let failure = results.lazy.compactMap(\.self).first
    tries = failure == nil ? 0 : tries + 1
    dueAt = failure == nil ? 0 : time + min(Self.waits.first << Int64(min(tries - 1, 10)), Self.waits.longest)
    return wasBehind ? nil : failure
  }

  /// The paths whose objects are gone, for the ledger.
  mutating func takeDone() -> [String] {
    defer { done.removeAll() }
    return done
  }
}
