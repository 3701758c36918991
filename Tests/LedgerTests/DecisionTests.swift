import Pipeline
import Testing

@testable import Ledger

/// What commands decide, without a ledger.
struct DecisionTests {
  private static let lane = LaneName.channel("x")
  private static let person = Pause(.person, code: "paused", reason: "lunch", by: "ann")
  private static let fault = Pause(.fault, code: "disk-full", reason: "no room")
  private static let changed = CommandResult.done(hasChanged: true)
  private static let unchanged = CommandResult.done(hasChanged: false)

  struct LaneCase: Sendable, CustomStringConvertible {
    var description: String
    /// `nil`: there is no such lane.
    var pauses: [Pause]?
    var actions: [LaneCommand.Action]
    var results: [CommandResult]
    var writes: [LaneDecision.Write] = []
  }

  static let lanes: [LaneCase] = [
    LaneCase(
      description: "a pause", pauses: [], actions: [.pause(person)], results: [changed],
      writes: [.pause(lane, person)]),
    LaneCase(
      description: "a second pause of the same cause", pauses: [person],
      actions: [.pause(Pause(.person, code: "other", reason: "later"))], results: [unchanged]),
    LaneCase(
      description: "a pause of the other cause", pauses: [person], actions: [.pause(fault)],
      results: [changed], writes: [.pause(lane, fault)]),
    LaneCase(
      description: "the same pause twice", pauses: [], actions: [.pause(person), .pause(person)],
      results: [changed, unchanged], writes: [.pause(lane, person)]),
    LaneCase(
      description: "a resumption of what is not paused", pauses: [],
      actions: [.resume(nil), .resume(.fault)],
      results: [unchanged, unchanged]),
    LaneCase(
      description: "a resumption of another cause", pauses: [person], actions: [.resume(.fault)],
      results: [unchanged]),
    LaneCase(
      description: "a resumption of one cause of two", pauses: [person, fault], actions: [.resume(.person)],
      results: [changed], writes: [.lift(lane, .person)]),
    LaneCase(
      description: "a resumption of every cause", pauses: [person, fault], actions: [.resume(nil)],
      results: [changed], writes: [.lift(lane, .person), .lift(lane, .fault)]),
    LaneCase(
      description: "a pause and its resumption", pauses: [],
      actions: [.pause(fault), .resume(.fault), .resume(.fault)], results: [changed, changed, unchanged],
      writes: [.pause(lane, fault), .lift(lane, .fault)]),
    LaneCase(
      description: "a pause after a resumption", pauses: [person], actions: [.resume(nil), .pause(person)],
      results: [changed, changed], writes: [.lift(lane, .person), .pause(lane, person)]),
    LaneCase(
      description: "a hastening", pauses: [person], actions: [.hasten], results: [changed],
      writes: [.hasten(lane)]),
  ]

  @Test(arguments: lanes) func aLaneIsDecidedInOrder(row: LaneCase) {
    let requests = row.actions.map { LaneCommand(Self.lane, $0) }
    #expect(LaneDecision.needs(requests) == [Self.lane])
    let (results, writes) = LaneDecision.decide(requests, [Self.lane: row.pauses ?? []])
    #expect(results == row.results && writes == row.writes)
  }

  @Test func everyActionOnAnUnknownLaneIsRefusedAndTheOthersAreNot() {
    let other = LaneName.channel("y")
    let requests = [
      LaneCommand(Self.lane, .pause(Self.person)), LaneCommand(other, .pause(Self.person)),
      LaneCommand(Self.lane, .resume(nil)), LaneCommand(Self.lane, .hasten),
    ]
    #expect(LaneDecision.needs(requests) == [Self.lane, other])
    let (results, writes) = LaneDecision.decide(requests, [other: []])
    #expect(results.map { if case .refused = $0 { true } else { false } } == [true, false, true, true])
    #expect(writes == [.pause(other, Self.person)])
  }

  struct RetryCase: Sendable, CustomStringConvertible {
    var status: Status
    var isWaiting = false
    var results: [CommandResult]
    var writes: [RetryDecision.Write] = []
    var description: String { isWaiting ? "waiting" : status.rawValue }
  }

  private static let completed = CommandResult.refused(
    "attachment i is completed: there is nothing to try again")

  static let retries: [RetryCase] = [
    RetryCase(status: .queued, results: [unchanged, unchanged]),
    RetryCase(status: .queued, isWaiting: true, results: [changed, unchanged], writes: [.hasten(key: 7)]),
    RetryCase(status: .completed, results: [completed, completed]),
    RetryCase(status: .rejected, results: [changed, unchanged], writes: [.queue(key: 7)]),
    RetryCase(status: .failed, results: [changed, unchanged], writes: [.queue(key: 7)]),
    RetryCase(status: .quarantined, results: [changed, unchanged], writes: [.queue(key: 7)]),
  ]

  @Test(arguments: retries) func anAttachmentIsTriedAgainOnce(row: RetryCase) {
    let requests = [RetryCommand("i"), RetryCommand("i")]
    #expect(RetryDecision.needs(requests) == ["i"])
    let fact = RetryDecision.Fact(key: 7, status: row.status, isWaiting: row.isWaiting)
    let (results, writes) = RetryDecision.decide(requests, ["i": fact])
    #expect(results == row.results && writes == row.writes)
  }

  @Test func anUnknownAttachmentIsRefusedAndTheOthersAreNot() {
    let requests = [RetryCommand("i"), RetryCommand("j"), RetryCommand("k")]
    #expect(RetryDecision.needs(requests) == ["i", "j", "k"])
    let (results, writes) = RetryDecision.decide(
      requests, ["i": .init(key: 1, status: .failed), "k": .init(key: 3, status: .queued, isWaiting: true)])
    #expect(
      results == [Self.changed, .refused("no attachment has the id j"), Self.changed])
    #expect(writes == [.queue(key: 1), .hasten(key: 3)])
  }

  @Test func everyStatusIsInTheTable() {
    #expect(Set(Self.retries.map(\.status)) == Set(Status.allCases))
  }
}
