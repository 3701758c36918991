import Ledger

/// What a scheduler knows of a lane's queue, and so when it asks for leases.
///
/// The ledger tells all that can change by itself, with each exchange; what the scheduler adds in between it notes here.
final class Lane {
  /// As the ledger has it.
  let name: String
  /// Leases in hand.
  var inHand = 0
  /// Whether jobs may be due that nobody has a lease of.
  private(set) var mayHaveMore = true
  /// When the next scheduled job is due, in milliseconds of the steady clock; `nil`: none is scheduled.
  private(set) var nextDue: Int64?
  /// When leases were last asked for, in milliseconds of the steady clock.
  private var askedAt: Int64 = .min
  /// How many jobs are scheduled, as of when the ledger last had nothing due.
  private(set) var scheduled = 0
  private(set) var pause: Pause?

  struct Pause {
    /// The code and the sentence.
    var reason: String
    /// In milliseconds of the steady clock.
    var since: Int64
  }

  /// How long a due job waits while there is room for less than a quarter of the window, in milliseconds. To ask for a few
  /// leases at a time costs a transaction each.
  private static let patience: Int64 = 500

  init(_ name: String) {
    self.name = name
  }

  /// How many leases to ask for now.
  ///
  /// - Parameters:
  ///   - time: in milliseconds of the steady clock.
  ///   - window: leases in hand, at most.
  func wish(at time: Int64, window: Int) -> Int {
    guard pause == nil, mayHaveMore || nextDue.map({ $0 <= time }) ?? false else { return 0 }
    let free = window - inHand
    let isWorthwhile = free >= max(window / 4, 1) || inHand == 0 || time - Self.patience >= askedAt
    return isWorthwhile ? max(free, 0) : 0
  }

  /// Leases have been asked for.
  func ask(at time: Int64) { askedAt = time }

  /// Notes what the ledger said.
  func learn(_ standing: LaneStanding) {
    mayHaveMore = standing.hasDue
    nextDue = standing.nextDue
    scheduled = standing.scheduled
  }

  /// Something was added that is due at once.
  func addDue() { mayHaveMore = true }

  /// A job of this lane was put off. The ledger's next word counts more.
  func addScheduled(at time: Int64) { nextDue = min(nextDue ?? .max, time) }

  func stop(_ pause: Pause) { self.pause = pause }

  func resume() {
    pause = nil
    mayHaveMore = true
  }
}
