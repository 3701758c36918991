import LedgerPort
import LedgerRules
import Pipeline
import Testing

/// What commands do to deliveries, as a table.
struct DeliveryDecisionTests {
  private static let key = DeliveryDecision.Key(key: 7, id: "d")
  private static let changed = CommandResult.done(hasChanged: true)
  private static let unchanged = CommandResult.done(hasChanged: false)

  struct Row: Sendable, CustomStringConvertible {
    var status: DeliveryStatus
    var isWaiting = false
    var action: DeliveryCommand.Action
    /// Of the command, and of the same once more.
    var results: [CommandResult]
    var writes: [DeliveryDecision.Write] = []
    var description: String { "\(action) of a \(isWaiting ? "waiting" : status.rawValue) one" }
  }

  static let rows: [Row] = [
    Row(status: .pending, action: .retry, results: [unchanged, unchanged]),
    Row(
      status: .pending, isWaiting: true, action: .retry, results: [changed, unchanged],
      writes: [.hasten(key: 7)]),
    Row(
      status: .delivered, action: .retry,
      results: [.refused("delivery d was delivered"), .refused("delivery d was delivered")]),
    Row(
      status: .dead, action: .retry, results: [changed, unchanged], writes: [.queue(key: 7, channel: "x")]),
    Row(
      status: .dropped, action: .retry, results: [changed, unchanged],
      writes: [.queue(key: 7, channel: "x")]),
    Row(status: .pending, action: .drop, results: [changed, unchanged], writes: [.drop(key: 7)]),
    Row(
      status: .pending, isWaiting: true, action: .drop, results: [changed, unchanged],
      writes: [.drop(key: 7)]),
    Row(
      status: .delivered, action: .drop,
      results: [
        .refused("delivery d was delivered: there is nothing to give up"),
        .refused("delivery d was delivered: there is nothing to give up"),
      ]),
    Row(status: .dead, action: .drop, results: [changed, unchanged], writes: [.drop(key: 7)]),
    Row(status: .dropped, action: .drop, results: [unchanged, unchanged]),
  ]

  @Test(arguments: rows) func aDeliveryIsDecidedInOrder(row: Row) {
    let requests = [DeliveryCommand(key: 7, "d", row.action), DeliveryCommand(key: 7, "d", row.action)]
    #expect(DeliveryDecision.needs(requests) == [Self.key])
    let fact = DeliveryDecision.Fact(row.status, isWaiting: row.isWaiting, channel: "x")
    let (results, writes) = DeliveryDecision.decide(requests, [Self.key: fact])
    #expect(results == row.results && writes == row.writes)
  }

  @Test func everyStatusIsInTheTable() {
    for action in [DeliveryCommand.Action.retry, .drop] {
      #expect(
        Set(Self.rows.filter { $0.action == action }.map(\.status)) == Set(DeliveryStatus.allCases))
    }
  }

  @Test func anUnknownDeliveryIsRefused() {
    let (results, writes) = DeliveryDecision.decide(
      [DeliveryCommand(key: 7, "other", .drop)], [Self.key: .init(.dead, channel: "x")])
    #expect(results == [.refused("no delivery has the id other")] && writes.isEmpty)
  }

  @Test func aCommandSeesWhatTheOnesBeforeItDid() {
    let requests = [DeliveryCommand.Action.drop, .retry, .retry, .drop].map {
      DeliveryCommand(key: 7, "d", $0)
    }
    let (results, writes) = DeliveryDecision.decide(requests, [Self.key: .init(.dead, channel: "x")])
    #expect(results == [Self.changed, Self.changed, Self.unchanged, Self.changed])
    #expect(writes == [.drop(key: 7), .queue(key: 7, channel: "x"), .drop(key: 7)])
  }
}
