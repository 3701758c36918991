import Foundation
import Pipeline
import Platform
import SQLite
import Testing

@testable import Ledger
@testable import Scheduler

/// When a lane asks for leases: whatever happens in whatever order, a due job is claimed within a second if
/// there is room for it.
struct LaneTests {
  private static func standing(hasDue: Bool = false, nextDue: Int64? = nil) -> LaneStanding {
    var standing = LaneStanding(name: "a")
    (standing.hasDue, standing.nextDue) = (hasDue, nextDue)
    return standing
  }

  @Test func aJobThatAnotherLanesWakeUpLeftDueIsAskedFor() {
    let lane = Lane("a")
    lane.learn(Self.standing(nextDue: 5_000))
    #expect(lane.wish(at: 4_999, window: 8) == 0)
    #expect(lane.wish(at: 5_000, window: 8) == 8)
    // The window was full, and the ledger reported what is left.
    lane.inHand = 8
    lane.learn(Self.standing(hasDue: true, nextDue: 300_000))
    lane.ask(at: 5_000)
    #expect(lane.wish(at: 5_010, window: 8) == 0)
    lane.inHand = 7
    #expect(lane.wish(at: 5_500, window: 8) == 1, "one place is enough once half a second has passed")
  }

  @Test func aFewPlacesWaitForMoreOfThem() {
    let lane = Lane("a")
    lane.inHand = 5
    lane.ask(at: 1_000)
    #expect(lane.wish(at: 1_100, window: 16) == 11)
    lane.inHand = 14
    #expect(lane.wish(at: 1_100, window: 16) == 0)
  }

  @Test func aLaneThatStoppedAsksForNothing() {
    let lane = Lane("a")
    lane.stop(.init(reason: "disk-full: no room", since: 0))
    #expect(lane.wish(at: 10, window: 4) == 0)
    lane.resume()
    #expect(lane.wish(at: 10, window: 4) == 4)
  }

  // MARK: With a real ledger

  /// The test controls the time.
  private struct World {
    var time: Int64 = 1_000_000
    let ledger: Ledger
    let lanes: Lanes
    var leases: [Int64: Lease] = [:]
    var number = 0
    static let window = 4

    init() throws {
      ledger = try Ledger(path: ":memory:")
      lanes = Lanes(channels: ["x", "y"], window: Self.window)
    }

    func lane(_ lease: Lease) -> Lane {
      if case .delivery(let delivery) = lease.work {
        lanes[Ledger.lane(ofChannel: delivery.channel)] ?? lanes.attachments
      } else {
        lanes.attachments
      }
    }

    /// When a lane with room last had nothing due, or got a lease.
    var servedAt: [String: Int64] = [:]

    /// One turn of a scheduler: one reading of the clock, one exchange.
    mutating func turn(_ settlements: [(Lease, Settlement.Ending)] = [], adding count: Int = 0) throws {
      var request = ExchangeRequest()
      request.time = time
      for _ in 0..<count {
        number += 1
        request.intake.append(
          IntakeItem(
            conversationId: "c", messageId: nil, senderId: "ann", participants: ["ann", "ben"], fileName: "a",
            source: Array("/in/\(number)".utf8), sourceSize: 1, sourceModified: 1, origin: "test"))
      }
      if count > 0 { lanes.attachments.addDue() }
      request.settlements = settlements.map { Settlement($0.0, $0.1) }
      for lane in lanes.channels where !settlements.isEmpty { lane.addDue() }
      var putOff: Set<String> = []
      for (lease, ending) in settlements {
        switch ending {
        case .again, .deliveryAgain: putOff.insert(lane(lease).name)
        default: break
        }
      }
      request.wanted = lanes.wanted(at: time, isBlocked: false, putOff: putOff)
      if request.isEmpty { return }
      let reply = try ledger.exchange(request)
      for (lease, ending) in settlements {
        leases[lease.job] = nil
        lane(lease).inHand -= 1
        if case .released = ending { lane(lease).addDue() }
      }
      for standing in reply.lanes { lanes[standing.name]?.learn(standing) }
      for standing in reply.lanes where standing.granted > 0 { servedAt[standing.name] = time }
      for lease in reply.leases {
        leases[lease.job] = lease
        lane(lease).inHand += 1
      }
    }

    /// How long a lane with room has got no lease although jobs were due, in milliseconds.
    mutating func longestNeglect() throws -> Int64 {
      let query = "SELECT count(*) FROM jobs WHERE lane = ?1 AND state <> 'leased' AND due_at <= ?2"
      var longest: Int64 = 0
      for lane in lanes.all {
        let due =
          try ledger.connection.prepare(query).first(.text(lane.name), .integer(time)) { $0.integer(0) } ?? 0
        if lane.inHand >= Self.window || due == 0 { servedAt[lane.name] = time }
        longest = max(longest, time - (servedAt[lane.name] ?? time))
      }
      return longest
    }
  }

  /// A random ending of a lease.
  private static func ending<Random: RandomNumberGenerator>(
    of lease: Lease, at time: Int64, _ random: inout Random
  ) -> Settlement.Ending {
    let later = time + Int64.random(in: 1...20_000, using: &random)
    switch lease.work {
    case .attachment(let attachment):
      if Bool.random(using: &random) {
        return .again(key: attachment.key, dueAt: later, crashed: false, attempt: lease.attempt, steps: [])
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
        return .deliveryAgain(key: delivery.key, dueAt: later, reason: reason)
      }
    }
  }

  @Test(arguments: 0..<40) func aDueJobOfAFreeLaneIsClaimedWithinASecond(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var world = try World()
    for _ in 0..<400 {
      let held = world.leases.values.sorted { $0.job < $1.job }.filter { _ in
        Int.random(in: 0...3, using: &random) == 0
      }
      let settlements = held.map { ($0, Self.ending(of: $0, at: world.time, &random)) }
      try world.turn(settlements, adding: Int.random(in: 0...9, using: &random) == 0 ? 3 : 0)
      #expect(try world.longestNeglect() <= 1000, "with seed \(seed)")
      world.time += Int64.random(in: 1...300, using: &random)
    }
  }
}
