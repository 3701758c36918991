import LedgerPort
import LedgerRules
import SQLite

// Lanes, and what stops them.
extension SQLiteLedger {
  /// The key of a lane; makes its row where there is none. Must be called within a transaction.
  func laneKey(_ lane: LaneName) throws -> Int64 {
    if let key = try knownLaneKey(lane) { return key }
    try statement(SQL.addLane).run(
      .text(lane.kind.rawValue), .text(lane.name), .text(lane.host ?? ""), .text(lane.sharing.rawValue))
    let key = connection.lastInsertedRow
    laneKeys.append((lane, key))  // forgotten where the transaction fails
    return key
  }

  /// The key of a lane on record; `nil`: it is not.
  func knownLaneKey(_ lane: LaneName) throws -> Int64? {
    // They are few: to hash a name would cost more.
    if let known = laneKeys.first(where: { $0.lane == lane }) { return known.key }
    let key = try statement(SQL.laneKey).first(
      .text(lane.kind.rawValue), .text(lane.name), .text(lane.host ?? "")
    ) { $0.integer(0) }
    if let key { laneKeys.append((lane, key)) }
    return key
  }

  /// Why a lane stands still, a person's pause first.
  func pauses(of key: Int64) throws -> [Pause] {
    var pauses: [Pause] = []
    try statement(SQL.pauses).rows(.integer(key)) { row in
      guard let cause = Pause.Cause(rawValue: row.text(0)) else { return }
      pauses.append(
        Pause(cause, code: row.text(1), reason: row.text(2), by: row.text(3), since: row.integer(4)))
    }
    return pauses
  }

  package func pauses(of lane: LaneName) throws -> [Pause]? {
    try knownLaneKey(lane).map { try pauses(of: $0) }
  }

  package func setPause(_ lane: LaneName, _ pause: Pause, at now: Int64) throws {
    try statement(SQL.addPause).run(
      .integer(try laneKey(lane)), .text(pause.cause.rawValue), .text(pause.code), .text(pause.reason),
      .text(pause.by), .integer(now))
  }

  package func liftPause(_ lane: LaneName, _ cause: Pause.Cause) throws {
    try statement(SQL.liftPause).run(.integer(try laneKey(lane)), .text(cause.rawValue))
  }

  package func hastenAll(of lane: LaneName, at time: Int64) throws {
    try statement(SQL.hastenLane).run(.integer(try laneKey(lane)), .integer(time))
  }
}
