import Foundation
import Pipeline
import Platform
import SQLite
import Synchronization
import Testing

@testable import LedgerPort
@testable import LedgerSQLite
@testable import Scheduler

/// When a lane asks for leases: whatever happens in whatever order, a due job is claimed within a second if
/// there is room for it.
struct LaneTests {
  @Test func aTimeThatNeverComesIsNoTrouble() {
    let lane = Lane(.attachments)
    var state = LaneState(.attachments)
    state.nextDue = .max
    lane.learn(state, at: 1_700_000_000_000)
    #expect(lane.nextDue ?? 0 > 1_700_000_000_000 && lane.wish(at: 1_700_000_000_001, window: 9) == 0)
  }

  private static func state(hasDue: Bool = false, nextDue: Int64? = nil) -> LaneState {
    var state = LaneState(.channel("a"))
    (state.hasDue, state.nextDue) = (hasDue, nextDue)
    return state
  }

  @Test func aJobThatAnotherLanesWakeUpLeftDueIsAskedFor() {
    let lane = Lane(.channel("a"))
    lane.learn(Self.state(nextDue: 2_000), at: 3_000)
    #expect(lane.wish(at: 4_999, window: 8) == 0)
    #expect(lane.wish(at: 5_000, window: 8) == 8)
    // The window was full, and the ledger reported what is left.
    lane.hold(8)
    lane.learn(Self.state(hasDue: true, nextDue: 300_000), at: 5_000)
    lane.ask(at: 5_000)
    #expect(lane.wish(at: 5_010, window: 8) == 0)
    lane.hold(7)
    #expect(lane.wish(at: 5_500, window: 8) == 1, "one place is enough once half a second has passed")
  }

  @Test func whereHostsHaveTheirSharesTheNextQuestionWaitsUntilSomethingChanges() {
    let lane = Lane(.downloads)
    func askInVain() {
      lane.ask(at: 5_000)
      lane.learn(Self.state(hasDue: true), at: 5_000)
      #expect(lane.wish(at: 5_010, window: 8) == 0)
    }
    askInVain()
    #expect(lane.wish(at: 5_500, window: 8) == 8, "half a second has passed")
    askInVain()
    lane.addDue()
    #expect(lane.wish(at: 5_010, window: 8) == 8, "a host may have more")
    lane.hold(1)
    askInVain()
    lane.hold(0)
    #expect(lane.wish(at: 5_010, window: 8) == 8, "a host has one less")
  }

  @Test func aWindowThatIsFullAsksForThoseWhoHaveNone() throws {
    var lanes = Lanes(channels: [], connections: 8, perHost: 4, window: 100)
    let lane = try #require(lanes.downloads)
    func newcomers(at time: Int64) -> Int {
      let wanted = lanes.wanted(at: time, isBlocked: true, putOff: [], awaited: 0) { HostShares($0) }
      return wanted.first { $0.lane == .downloads && $0.count == 0 }?.newcomers ?? 0
    }
    lane.hold(16)
    #expect(newcomers(at: 5_000) == 8)
    lane.learn(Self.state(hasDue: true), at: 5_000)
    #expect(newcomers(at: 5_600) == 0, "there was none")
    lane.learn(Self.state(hasDue: true), at: 5_600)
    #expect(newcomers(at: 5_610) == 8, "a command has changed the queue")
    lane.learn(Self.state(hasDue: true), at: 5_610)
    lane.hold(21)
    #expect(newcomers(at: 10_700) == 3, "a host may have ended its rest")
    lanes.bound(6)
    lane.hold(6)
    #expect(newcomers(at: 20_000) == 3, "few files may be open")
    lane.learn(Self.state(), at: 20_000)
    #expect(newcomers(at: 99_000) == 0, "nothing is due")
  }

  @Test func aFewPlacesWaitForMoreOfThem() {
    let lane = Lane(.channel("a"))
    lane.hold(5)
    lane.ask(at: 1_000)
    #expect(lane.wish(at: 1_100, window: 16) == 11)
    lane.hold(14)
    #expect(lane.wish(at: 1_100, window: 16) == 0)
  }

  @Test func aLaneThatStoppedAsksForNothing() {
    let lane = Lane(.channel("a"))
    lane.stop(Pause(.fault, code: "disk-full", reason: "no room"), at: 0)
    #expect(lane.wish(at: 10, window: 4) == 0)
    lane.resume()
    #expect(lane.wish(at: 10, window: 4) == 4)
  }

  // MARK: With a real ledger

  private final class TestClock: Sendable {
    let time = Atomic<Int64>(1_000_000)
  }

  /// The test controls the time.
  private struct World {
    /// In milliseconds, by the ledger's clock too.
    var time: Int64 {
      get { clock.time.load(ordering: .relaxed) }
      set { clock.time.store(newValue, ordering: .relaxed) }
    }
    private let clock = TestClock()
    let ledger: SQLiteLedger
    /// Of the last exchange.
    private var exchanges: Int64 = 0
    let lanes: Lanes
    var leases: [JobKey: Lease] = [:]
    var number = 0
    static let window = 4
    /// What one sender may have of it.
    static let share = 3

    init() throws {
      let clock = clock
      @Sendable func time() -> Int64 { clock.time.load(ordering: .relaxed) }
      ledger = try SQLiteLedger(
        path: ":memory:",
        clock: Clock(now: time, steady: time, monotonic: { UInt64(time()) * 1_000_000 }, sinceBoot: time))
      lanes = Lanes(channels: ["x", "y"], window: Self.window)
    }

    func lane(_ lease: Lease) -> Lane {
      if case .delivery(let delivery) = lease.work {
        lanes[.channel(delivery.channel)] ?? lanes.attachments
      } else {
        lanes.attachments
      }
    }

    /// When a lane with room last had nothing due, or got a lease.
    var servedAt: [LaneName: Int64] = [:]

    /// One turn of a scheduler: one reading of the clock, one exchange.
    mutating func turn(_ settlements: [(Lease, Settlement.Ending)] = [], adding count: Int = 0) throws {
      var request = Exchange(number: exchanges + 1)
      var items: [IntakeItem] = []
      for _ in 0..<count {
        number += 1
        items.append(
          IntakeItem(
            conversationId: "c", messageId: nil, senderId: "ann", participants: ["ann", "ben"], fileName: "a",
            source: Array("/in/\(number)".utf8), sourceSize: 1, sourceModified: 1, origin: "test"))
      }
      if count > 0 {
        lanes.attachments.addDue()
        request.commands = [.takeIn(items)]
      }
      request.settlements = settlements.map { Settlement($0.0, $0.1) }
      for lane in lanes.channels where !settlements.isEmpty { lane.addDue() }
      var putOff: Set<LaneName> = []
      for (lease, ending) in settlements {
        switch ending {
        case .again, .deliveryAgain: putOff.insert(lane(lease).name)
        default: break
        }
      }
      request.wanted = lanes.wanted(at: time, isBlocked: false, putOff: putOff, awaited: 0) { HostShares($0) }
      if request.isEmpty { return }
      let reply = try ledger.exchange(request)
      exchanges += 1
      for (lease, ending) in settlements {
        leases[lease.job] = nil
        lane(lease).leave(of: lease.turn)
        if case .released = ending { lane(lease).addDue() }
      }
      for state in reply.lanes { lanes[state.name]?.learn(state, at: time) }
      for state in reply.lanes where state.granted > 0 { servedAt[state.name] = time }
      for lease in reply.leases {
        leases[lease.job] = lease
        lane(lease).take(of: lease.turn)
      }
    }

    /// How long a lane with room has got no lease although jobs were due, in milliseconds.
    mutating func longestNeglect() throws -> Int64 {
      let query = """
        SELECT count(*) FROM jobs j JOIN lanes l ON l.key = j.lane
        WHERE l.kind = ?1 AND l.name = ?2 AND j.state <> 'leased' AND j.due_at <= ?3
        """
      var longest: Int64 = 0
      for lane in lanes.all {
        let due =
          try ledger.connection.prepare(query).first(
            .text(lane.name.kind.rawValue), .text(lane.name.name), .integer(time)
          ) { $0.integer(0) } ?? 0
        if lane.inHand >= Self.share || due == 0 { servedAt[lane.name] = time }
        longest = max(longest, time - (servedAt[lane.name] ?? time))
      }
      return longest
    }
  }

  /// A random ending of a lease.
  private static func ending<Random: RandomNumberGenerator>(
    of lease: Lease, _ random: inout Random
  ) -> Settlement.Ending {
    let later = Int64.random(in: 1...20_000, using: &random)
    switch lease.work {
    case .attachment(let attachment):
      if Bool.random(using: &random) {
        return .again(key: attachment.key, after: later, crashed: false, attempt: lease.attempt, steps: [])
      }
      let event = OutgoingEvent(type: "t", data: "{}", channels: ["x", "y"], recipients: ["ann", "ben"])
      return .attachment(
        EndedAttachment(
          attachment, AttachmentOutcome(.completed, sizeBytes: 1), attempt: lease.attempt, steps: [],
          events: [event]))
    case .delivery(let delivery):
      switch Int.random(in: 0...3, using: &random) {
      case 0: return .delivered(key: delivery.key)
      case 1: return .released
      default:
        let reason = Reason(stage: "x", code: "unreachable", message: "nobody answers")
        return .deliveryAgain(key: delivery.key, after: later, reason: reason)
      }
    case .transfer: return .released
    }
  }

  @Test(arguments: 0..<40) func aDueJobOfAFreeLaneIsClaimedWithinASecond(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var world = try World()
    for _ in 0..<400 {
      let held = world.leases.values.sorted { $0.job < $1.job }.filter { _ in
        Int.random(in: 0...3, using: &random) == 0
      }
      let settlements = held.map { ($0, Self.ending(of: $0, &random)) }
      try world.turn(settlements, adding: Int.random(in: 0...9, using: &random) == 0 ? 3 : 0)
      #expect(try world.longestNeglect() <= 1000, "with seed \(seed)")
      world.time += Int64.random(in: 1...300, using: &random)
    }
  }
}

extension Lane {
  /// Makes so many leases be in hand.
  fileprivate func hold(_ count: Int) {
    while inHand < count { take(of: 0) }
    while inHand > count { leave(of: 0) }
  }
}
