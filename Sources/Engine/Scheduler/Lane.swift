import LedgerPort
import Pipeline

/// What a scheduler knows of a lane's queue, and so when it asks for leases.
///
/// The ledger tells all that can change by itself, with each exchange; what the scheduler adds in between it notes here.
final class Lane {
  let name: LaneName
  /// Leases in hand.
  private(set) var inHand = 0
  /// Of these, those of each sender: see ``Lease/turn``.
  private(set) var bySender: [Int64: Int] = [:]
  /// Whether jobs may be due that are not leased.
  private(set) var mayHaveMore = true
  /// When the next scheduled job is due, in milliseconds of the steady clock; `nil`: none is scheduled.
  private(set) var nextDue: Int64?
  /// When leases were last asked for, in milliseconds of the steady clock.
  private var askedAt: Int64 = .min
  /// Leases were asked for since the ledger answered last; and it granted none although jobs are due, since their hosts have their
  /// shares. Asking again at once would give none either.
  private var (isAsked, isInVain) = (false, false)
  /// How many jobs wait for later, as far as was asked, as of when the ledger last had nothing due.
  private(set) var waiting = 0
  private(set) var pause: Pause?
  /// When it was paused, in milliseconds of the steady clock.
  private(set) var pausedAt: Int64 = 0
  /// Whether jobs were due then that were not leased: of a lane that is paused the ledger does not tell.
  private(set) var hadMore = false

  /// How long a due job waits while there is room for less than a half of the window, of downloads a quarter, in milliseconds. A quarter
  /// is free where one sender has all that one may have. To ask for a few
  /// leases at a time costs a transaction each.
  private static let longestDelay: Int64 = 500

  init(_ name: LaneName) {
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
    let isMuch = free >= max(window / (name.kind == .downloads ? 4 : 2), 1) || inHand == 0
    let isWorthwhile = isMuch && !isInVain || time - Self.longestDelay >= askedAt
    return isWorthwhile ? max(free, 0) : 0
  }

  /// How many leases to ask for beyond a window that is full, for users who have none.
  ///
  /// - Parameter most: leases in hand beyond the window, at most.
  func wishForNewcomers(at time: Int64, window: Int, most: Int) -> Int {
    guard pause == nil, mayHaveMore || nextDue.map({ $0 <= time }) ?? false else { return 0 }
    let wait = isInVain ? Self.longestDelay * 10 : Self.longestDelay
    return time - wait >= askedAt ? max(most - max(inHand - window, 0), 0) : 0
  }

  /// A lease of a sender's was granted.
  func take(of sender: Int64) {
    inHand += 1
    bySender[sender, default: 0] += 1
  }

  /// A lease of a sender's has ended.
  func leave(of sender: Int64) {
    inHand -= 1
    let rest = bySender[sender, default: 1] - 1
    bySender[sender] = rest > 0 ? rest : nil
    isInVain = false
  }

  /// Leases have been asked for.
  func ask(at time: Int64) { (askedAt, isAsked) = (time, true) }

  /// Notes what the ledger said at a time of the steady clock. Its own pause may be newer than what the ledger knew.
  func learn(_ state: LaneState, at time: Int64) {
    mayHaveMore = state.hasDue
    // What a command has changed may be another user's.
    isInVain = state.hasDue && isAsked && state.granted == 0
    isAsked = false
    nextDue = state.nextDue.map { time + min($0, 1 << 50) }
    waiting = state.waiting
  }

  /// Whether it stands until a person lets it go on.
  var needsPerson: Bool { pause.map { $0.cause != .fault } ?? false }

  /// Something was added that is due at once.
  func addDue() { (mayHaveMore, isInVain) = (true, false) }

  func stop(_ pause: Pause, at time: Int64) {
    (self.pause, pausedAt, hadMore) = (pause, time, mayHaveMore)
  }

  func resume() {
    pause = nil
    addDue()
  }
}

/// The lanes of a run: that of the attachments, one for each channel, and that of downloads.
struct Lanes {
  let attachments: Lane
  let channels: [Lane]
  /// `nil`: links are not fetched.
  let downloads: Lane?
  /// Leases in hand of one lane, at most.
  private(set) var window: Int
  /// Transfers in hand, at most: each that is under way, and some that wait for the connections of their hosts. Of one host: two more
  /// than are under way at once. Users who have none get so many more.
  private var transfers: (all: Int, perHost: Int, newcomers: Int)
  private let prefetch: Int

  /// - Parameters:
  ///   - connections: transfers under way at once; 0: links are not fetched.
  ///   - perHost: of these, to one host.
  ///   - prefetch: of how many messages of each conversation links are fetched by themselves; 0: of all.
  init(channels names: [String], connections: Int = 0, perHost: Int = 0, prefetch: Int = 0, window: Int) {
    self.prefetch = prefetch
    attachments = Lane(.attachments)
    channels = names.map { Lane(.channel($0)) }
    downloads = connections > 0 ? Lane(.downloads) : nil
    transfers = (connections * 2, perHost > 0 ? perHost + 2 : 0, connections)
    all = [attachments] + channels + (downloads.map { [$0] } ?? [])
    self.window = window
  }

  /// - Parameter more: transfers in hand beyond the usual number.
  private func window(of lane: Lane, more: Int = 0) -> Int {
    lane === downloads ? min(transfers.all + more, window) : window
  }

  let all: [Lane]

  subscript(name: LaneName) -> Lane? { all.first { $0.name == name } }

  /// Bounds the window, and what is in hand beyond it.
  mutating func bound(_ most: Int) {
    window = max(min(window, most), 1)
    transfers.newcomers = min(transfers.newcomers, window / 2)
  }

  /// How many leases to ask for of each lane, at a time of the steady clock. A lane that something was put off in is asked how
  /// it stands, with a count of 0.
  ///
  /// - Parameters:
  ///   - isBlocked: no attachment is to be claimed now.
  ///   - putOff: the lanes that something is put off in.
  ///   - awaited: attachments that wait for their sources, as far as is known: whether others wait is asked too.
  ///   - hosts: the shares of hosts, of which one that answers has so many leases.
  func wanted(
    at time: Int64, isBlocked: Bool, putOff: Set<LaneName>, awaited: Int, _ hosts: (Int) -> HostShares
  ) -> [Want] {
    var wanted: [Want] = []
    for lane in all {
      var shares = lane === downloads ? hosts(transfers.perHost) : HostShares()
      let window = window(of: lane, more: shares.reserved)
      shares.reserved = window - self.window(of: lane)
      let count = isBlocked && lane === attachments ? 0 : lane.wish(at: time, window: window)
      let newcomers =
        lane === downloads ? lane.wishForNewcomers(at: time, window: window, most: transfers.newcomers) : 0
      if count > 0 || newcomers > 0 { lane.ask(at: time) }
      if count > 0 || newcomers > 0 || putOff.contains(lane.name) {
        wanted.append(
          Want(
            lane.name, count, countsWaiting: lane === attachments && awaited > 0 ? awaited + 1 : 0,
            hosts: shares,
            prefetch: lane === downloads ? prefetch : 0, newcomers: newcomers,
            inHand: lane === downloads || count == 0 ? nil : lane.bySender))
      }
    }
    return wanted
  }
}
