import Ledger

/// What a scheduler knows of a lane's queue, and so when it asks for leases.
///
/// The ledger tells all that can change by itself, with each exchange; what the scheduler adds in between it notes here.
final class Lane {
  /// As the ledger has it.
  let name: String
  /// Leases in hand.
  var inHand = 0
  /// Whether jobs may be due that are not leased.
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
  private static let longestDelay: Int64 = 500

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
    let isWorthwhile = free >= max(window / 4, 1) || inHand == 0 || time - Self.longestDelay >= askedAt
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

  func stop(_ pause: Pause) { self.pause = pause }

  func resume() {
    pause = nil
    mayHaveMore = true
  }
}

/// The lanes of a run: that of the attachments, and one for each channel.
struct Lanes {
  let attachments: Lane
  let channels: [Lane]
  /// Leases in hand of one lane, at most. After coordinators that got nothing done, one at a time, until it is known which
  /// attachment ends them.
  private(set) var window: Int
  private var fullWindow: Int

  init(channels names: [String], window: Int) {
    attachments = Lane(Ledger.attachmentLane)
    channels = names.map { Lane(Ledger.lane(ofChannel: $0)) }
    all = [attachments] + channels
    (self.window, fullWindow) = (window, window)
  }

  let all: [Lane]

  subscript(name: String) -> Lane? { all.first { $0.name == name } }

  /// Bounds the window.
  ///
  /// - Parameter isCareful: one attachment at a time, until one has ended.
  mutating func bound(_ most: Int, isCareful: Bool) {
    fullWindow = max(min(fullWindow, most), 1)
    window = isCareful ? 1 : fullWindow
  }

  /// An attachment has ended, so that it is not what ends coordinators.
  mutating func openWindow() { window = fullWindow }

  /// How many leases to ask for of each lane, at a time of the steady clock. A lane that something was put off in is asked how
  /// it stands, with a count of 0.
  ///
  /// - Parameters:
  ///   - isBlocked: no attachment is to be claimed now.
  ///   - putOff: the lanes that something is put off in.
  func wanted(at time: Int64, isBlocked: Bool, putOff: Set<String>) -> [(lane: String, count: Int)] {
    var wanted: [(lane: String, count: Int)] = []
    for lane in all {
      let count = isBlocked && lane === attachments ? 0 : lane.wish(at: time, window: window)
      if count > 0 { lane.ask(at: time) }
      if count > 0 || putOff.contains(lane.name) { wanted.append((lane.name, count)) }
    }
    return wanted
  }
}
