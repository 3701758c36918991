import LedgerPort
import LedgerRules
import Pipeline
import SQLite

extension SQLiteLedger: LedgerRows {
  package typealias Failure = any Error
}

// The queue, as the rules read and write it.
extension SQLiteLedger {
  private enum Text {
    static let job: StaticString =
      "SELECT state, due_at, holder, token, priority, cancelled FROM jobs WHERE kind = ?1 AND subject = ?2"
    static let add: StaticString = """
      INSERT INTO jobs (kind, subject, lane, priority, state, due_at, attempts, uncounted, turn)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)
      """
    static let set: StaticString = """
      UPDATE jobs SET state = ?3, due_at = coalesce(?4, due_at), holder = NULL, token = NULL, uncounted = uncounted + ?5,
        crashes = crashes + ?6
      WHERE kind = ?1 AND subject = ?2
      """
    static let setPriority: StaticString = "UPDATE jobs SET priority = ?3 WHERE kind = ?1 AND subject = ?2"
    static let setTurnPriority: StaticString = "UPDATE turns SET priority = ?2 WHERE transfer_key = ?1"
    static let setCancelled: StaticString = "UPDATE jobs SET cancelled = ?3 WHERE kind = ?1 AND subject = ?2"
    static let remove: StaticString = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2"
    static let end: StaticString =
      "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2 AND holder = ?3 AND token = ?4"
    static let addLeasedDelivery: StaticString = """
      INSERT INTO jobs (kind, subject, lane, priority, state, due_at, holder, token, attempts, uncounted, turn)
      VALUES ('delivery', ?1, ?2, ?3, 'leased', ?4, ?5, ?6, ?7 + 1, ?7, ?8)
      """
  }

  package func nextId() -> String { ids.next() }

  package func job(_ key: JobKey) throws -> JobRow? {
    try statement(Text.job).first(.text(key.kind.rawValue), .integer(key.subject)) { row in
      let state: JobRow.State =
        switch row.text(0) {
        case "scheduled": .scheduled(at: row.integer(1))
        case "leased": .leased(Token(holder: row.integer(2), number: row.integer(3)))
        case "waiting": .waiting
        case "expanded": .expanded
        default: .due
        }
      return JobRow(state, priority: row.integer(4), cancellation: row.optionalText(5))
    }
  }

  package func addJob(_ job: NewJob) throws {
    try statement(Text.add).run(
      .text(job.key.kind.rawValue), .integer(job.key.subject), .integer(try laneKey(job.lane)),
      .integer(job.priority), .text(job.isWaiting ? "waiting" : "due"), .integer(job.dueAt),
      .integer(job.earlier), .integer(job.turn))
    if !job.isWaiting { try addTurn(of: job.key) }
  }

  package func setJob(_ key: JobKey, _ state: JobRow.State, uncounted: Int64, crashes: Int64) throws {
    var dueAt: Int64?
    let text: String
    switch state {
    case .due: text = "due"
    case .scheduled(let time): (text, dueAt) = ("scheduled", time)
    case .waiting: text = "waiting"
    case .expanded: text = "expanded"
    // Only a claim leases.
    case .leased: return
    }
    try statement(Text.set).run(
      .text(key.kind.rawValue), .integer(key.subject), .text(text), .optional(dueAt), .integer(uncounted),
      .integer(crashes))
    if state == .due { try addTurn(of: key) } else { try removeTurn(of: key) }
  }

  /// A transfer stands in the order while it is due, and under way.
  func addTurn(of key: JobKey) throws {
    if key.kind == .transfer { try statement(SQL.addTurn).run(.integer(key.subject)) }
  }

  private func removeTurn(of key: JobKey) throws {
    if key.kind == .transfer { try statement(SQL.removeTurn).run(.integer(key.subject)) }
  }

  package func setPriority(_ key: JobKey, _ priority: Int64) throws {
    try statement(Text.setPriority).run(
      .text(key.kind.rawValue), .integer(key.subject), .integer(priority))
    if key.kind == .transfer {
      try statement(Text.setTurnPriority).run(.integer(key.subject), .integer(priority))
    }
  }

  package func setCancellation(_ key: JobKey, _ reason: String?) throws {
    try statement(Text.setCancelled).run(.text(key.kind.rawValue), .integer(key.subject), .optional(reason))
  }

  package func removeJob(_ key: JobKey) throws {
    try removeTurn(of: key)
    try statement(Text.remove).run(.text(key.kind.rawValue), .integer(key.subject))
  }

  package func endJob(_ key: JobKey, _ token: Token) throws -> Bool {
    try statement(Text.end).run(
      .text(key.kind.rawValue), .integer(key.subject), .integer(token.holder), .integer(token.number))
    guard connection.changes == 1 else { return false }
    try removeTurn(of: key)
    return true
  }

  // MARK: Deliveries

  package func addDelivery(
    _ delivery: LeasedDelivery, ofEvent event: Int64, priority: Int64, earlier: Int64, turn: Int64,
    _ tally: ExchangeTally
  ) throws {
    try statement(SQL.addDelivery).run(
      .text(delivery.id), .integer(event), .text(delivery.channel), .text(delivery.recipient))
    var delivery = delivery
    delivery.key = connection.lastInsertedRow
    let (key, lane) = (JobKey(.delivery, delivery.key), LaneName.channel(delivery.channel))
    guard newborn.takes(lane) else {
      return try addJob(
        NewJob(
          key, lane, priority: priority, dueAt: tally.time, earlier: earlier, turn: turn))
    }
    try statement(Text.addLeasedDelivery).run(
      .integer(delivery.key), .integer(try laneKey(lane)), .integer(priority), .integer(tally.time),
      .integer(tally.token.holder), .integer(tally.token.number), .integer(earlier), .integer(turn))
    newborn.add(
      Lease(
        job: key, token: tally.token, attempt: 1 + Int(earlier), counted: 1, priority: priority, turn: turn,
        work: .delivery(delivery)), lane)
  }

  package func endDelivery(_ key: Int64, _ status: DeliveryStatus, _ reason: Reason?, at now: Int64) throws {
    try statement(SQL.endDelivery).run(
      .integer(key), .text(status.rawValue), .optional(reason?.code), .optional(reason?.message),
      .integer(now))
  }

  package func noteDelivery(_ key: Int64, _ reason: Reason) throws {
    try statement(SQL.noteDelivery).run(.integer(key), .text(reason.code), .text(reason.message))
  }

  package func reopenDelivery(_ key: Int64) throws {
    try statement(SQL.reviveDelivery).run(.integer(key))
  }

  package func fact(ofDelivery key: DeliveryDecision.Key, at time: Int64) throws -> DeliveryDecision.Fact? {
    try statement(SQL.deliveryToChange).first(.integer(key.key), .text(key.id), .integer(time)) { row in
      DeliveryStatus(rawValue: row.text(0)).map {
        DeliveryDecision.Fact($0, isWaiting: row.integer(1) == 1, channel: row.text(2))
      }
    } ?? nil
  }
}
