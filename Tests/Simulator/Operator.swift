import LedgerPort
import Pipeline
import Platform
import Scheduler

/// The person who cancels, deletes and retries while coordinators work.
final class Operator {
  /// Tickets from this on are a person's.
  static let firstTicket: UInt64 = 1 << 32

  private let scenario: Scenario
  private let world: World
  private let rules: Rules
  private var ledger: (any LedgerQueries)?
  private var deeds: ArraySlice<Scenario.Deed>
  /// Deeds whose item was not taken in yet.
  private var early: [Scenario.Deed] = []
  private var ticket = Operator.firstTicket
  /// Ids of attachments, by item.
  private var ids: [Int: String]

  /// - Parameter before: of the coordinator before: what it has sent is not sent again.
  init(_ scenario: Scenario, _ world: World, _ rules: Rules, _ ledger: any LedgerQueries, before: Operator?) {
    (self.scenario, self.world, self.rules, self.ledger) = (scenario, world, rules, ledger)
    deeds = before?.deeds ?? scenario.deeds[...]
    (early, ids) = (before?.early ?? [], before?.ids ?? [:])
  }

  /// The coordinator has ended.
  func end() { ledger = nil }

  /// What is to be done now.
  func next() -> Intake.Batch? {
    var commands: [Command] = []
    let waiting = early
    early.removeAll()
    for deed in waiting { add(deed, &commands) }
    while let deed = deeds.first, deed.time <= world.milliseconds {
      deeds.removeFirst()
      add(deed, &commands)
    }
    if commands.isEmpty { return nil }
    ticket += 1
    world.trace.note("a person: \(commands)")
    rules.sends(commands, ticket: ticket)
    return Intake.Batch(commands, ticket: ticket)
  }

  private func add(_ deed: Scenario.Deed, _ commands: inout [Command]) {
    func add(_ action: AttachmentCommand.Action) {
      guard let id = id(ofItem: deed.target) else { return early.append(deed) }
      commands.append(.attachment(AttachmentCommand(id, action)))
    }
    switch deed.kind {
    case .cancel: add(.cancel("deed \(deed.number)"))
    case .delete: add(.delete(by: "a person"))
    case .retry: add(.retry)
    case .reprocess: add(.reprocess)
    case .prioritize: add(.prioritize(Int64(deed.number % 4)))
    case .drop: addDelivery(deed, .drop, &commands)
    case .redeliver: addDelivery(deed, .retry, &commands)
    }
  }

  private func addDelivery(
    _ deed: Scenario.Deed, _ action: DeliveryCommand.Action, _ commands: inout [Command]
  ) {
    let deliveries = (try? ledger?.deliveries(DeliveryFilter(), after: nil, limit: 1000).rows) ?? []
    if deliveries.isEmpty { return }
    let one = deliveries[deed.number * 7 % deliveries.count]
    commands.append(.delivery(DeliveryCommand(key: one.key, one.id, action)))
  }

  private func id(ofItem number: Int) -> String? {
    if let id = ids[number] { return id }
    var filter = AttachmentFilter()
    filter.fileName = "*#\(number)"
    ids[number] = try? ledger?.matches(filter, after: nil, limit: 1).rows.first?.id
    return ids[number]
  }
}
