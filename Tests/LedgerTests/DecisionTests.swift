import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

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
      description: "a second pause of a person, with another reason", pauses: [person],
      actions: [.pause(Pause(.person, code: "other", reason: "later"))], results: [changed],
      writes: [.pause(lane, Pause(.person, code: "other", reason: "later"))]),
    LaneCase(
      description: "a second fault", pauses: [fault],
      actions: [.pause(Pause(.fault, code: "other", reason: "later"))], results: [unchanged]),
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

  // MARK: Attachments

  /// What an attachment can be when a command comes.
  struct Standing: Sendable, CustomStringConvertible {
    var name: String
    var fact: AttachmentDecision.Fact?
    var description: String { name }
  }

  static let standings: [Standing] =
    [
      Standing(name: "due", fact: .init(key: 7, status: .queued, priority: 1)),
      Standing(name: "waiting", fact: .init(key: 7, status: .queued, priority: 1, isWaiting: true)),
      Standing(name: "taken back", fact: .init(key: 7, status: .queued, priority: 1, isCancelled: true)),
      Standing(name: "deleted", fact: .deleted), Standing(name: "unknown", fact: nil),
    ]
    + Status.allCases.filter(\.isFinal).map { Standing(name: $0.rawValue, fact: .init(key: 7, status: $0)) }

  /// What a command comes to, the first time and the second; and what is written.
  struct Answer {
    var results: [CommandResult]
    var writes: [AttachmentDecision.Write] = []
  }

  private static func refused(_ reason: String) -> Answer {
    Answer(results: [.refused(reason), .refused(reason)])
  }

  private static func once(_ writes: AttachmentDecision.Write...) -> Answer {
    Answer(results: [changed, unchanged], writes: writes)
  }

  private static let never = Answer(results: [unchanged, unchanged])
  private static let unknown = refused("no attachment has the id i")
  private static let gone = refused("attachment i was deleted; `sluice show` tells by whom")

  private static func ended(_ name: String) -> Answer { refused("attachment i is \(name): it has ended") }
  private static func waitsForNothing(_ name: String) -> Answer {
    refused(
      "attachment i is \(name): it waits for nothing"
        + (name == "failed" ? "; `sluice retry` has it tried again" : ""))
  }

  static func retry(_ name: String) -> Answer? {
    switch name {
    case "due": never
    case "waiting": once(.hasten(key: 7))
    case "taken back": once(.cancel(key: 7, reason: nil))
    case "deleted": gone
    case "unknown": unknown
    case "completed": refused("attachment i is completed: there is nothing to try again")
    case "rejected", "failed", "quarantined", "cancelled": once(.queue(key: 7))
    default: nil
    }
  }

  static func cancel(_ name: String) -> Answer? {
    switch name {
    case "due", "waiting": once(.cancel(key: 7, reason: "why"))
    case "taken back", "cancelled": never
    case "deleted": gone
    case "unknown": unknown
    case "completed", "rejected", "failed", "quarantined": ended(name)
    default: nil
    }
  }

  static func prioritize(_ name: String) -> Answer? {
    switch name {
    case "due", "waiting", "taken back": once(.prioritize(key: 7, 5))
    case "deleted": gone
    case "unknown": unknown
    case "completed", "rejected", "failed", "quarantined", "cancelled": waitsForNothing(name)
    default: nil
    }
  }

  static func delete(_ name: String) -> Answer? {
    switch name {
    case "deleted": never
    case "unknown": unknown
    default: once(.delete(key: 7, by: "ann", isForgotten: false))
    }
  }

  @Test(arguments: standings) func anAttachmentIsDecidedInOrder(standing: Standing) throws {
    let actions: [(AttachmentCommand.Action, (String) -> Answer?)] = [
      (.retry, Self.retry), (.cancel("why"), Self.cancel), (.prioritize(5), Self.prioritize),
      (.delete(by: "ann"), Self.delete),
    ]
    for (action, answer) in actions {
      let expected = try #require(answer(standing.name), "\(standing) is in no table")
      let requests = [AttachmentCommand("i", action), AttachmentCommand("i", action)]
      #expect(AttachmentDecision.needs(requests) == ["i"])
      let facts = standing.fact.map { ["i": $0] } ?? [:]
      let (results, writes) = AttachmentDecision.decide(requests, facts)
      #expect(results == expected.results, "\(action)")
      #expect(writes == expected.writes, "\(action)")
    }
  }

  @Test(arguments: Status.allCases) func onlyThoseWithOneOfTheStatusesAreChanged(status: Status) {
    for only in Status.allCases {
      let command = AttachmentCommand("i", .delete(by: "ann"), only: [only])
      let (results, writes) = AttachmentDecision.decide([command], ["i": .init(key: 7, status: status)])
      #expect(results == [.done(hasChanged: status == only)])
      #expect(writes.isEmpty == (status != only))
    }
  }

  @Test func aCommandSeesWhatTheOnesBeforeItDid() {
    let requests: [AttachmentCommand] = [
      .init("i", .retry), .init("i", .prioritize(0)), .init("i", .cancel("why")), .init("i", .retry),
      .init("i", .retry, only: [.failed]), .init("i", .delete(by: "ann")), .init("i", .retry),
      .init("i", .delete(by: "ben")),
    ]
    let (results, writes) = AttachmentDecision.decide(
      requests, ["i": .init(key: 7, status: .failed, priority: 3)])
    let deleted = CommandResult.refused("attachment i was deleted; `sluice show` tells by whom")
    #expect(
      results == [
        Self.changed, Self.unchanged, Self.changed, Self.changed, Self.unchanged, Self.changed, deleted,
        Self.unchanged,
      ])
    #expect(
      writes == [
        .queue(key: 7), .cancel(key: 7, reason: "why"), .cancel(key: 7, reason: nil),
        .delete(key: 7, by: "ann", isForgotten: false),
      ])
  }

  @Test func anUnknownAttachmentIsRefusedAndTheOthersAreNot() {
    let requests: [AttachmentCommand] = [.init("i", .retry), .init("j", .retry), .init("k", .retry)]
    #expect(AttachmentDecision.needs(requests) == ["i", "j", "k"])
    let (results, writes) = AttachmentDecision.decide(
      requests, ["i": .init(key: 1, status: .failed), "k": .init(key: 3, status: .queued, isWaiting: true)])
    #expect(
      results == [Self.changed, .refused("no attachment has the id j"), Self.changed])
    #expect(writes == [.queue(key: 1), .hasten(key: 3)])
  }
}
