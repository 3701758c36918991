import LedgerPort
import Platform
import SQLite

/// What an exchange visibly changes, gathered until its end: the position is given by the last statement of the transaction.
struct ChangedSubjects {
  private var attachments: [Int64] = []
  private var deletions: [Int64] = []
  private var deliveries: [Int64] = []
  private var lanes: [Int64] = []

  mutating func add(_ kind: Change.Kind, _ key: Int64) {
    switch kind {
    case .attachment: attachments.append(key)
    case .deletion: deletions.append(key)
    case .delivery: deliveries.append(key)
    // Only a lane can change more than once in an exchange.
    case .lane: if !lanes.contains(key) { lanes.append(key) }
    }
  }

  /// As a JSON object; `nil`: nothing has changed.
  var json: String? {
    let kinds: [(kind: Change.Kind, keys: [Int64])] = [
      (.attachment, attachments), (.deletion, deletions), (.delivery, deliveries), (.lane, lanes),
    ].filter { !$0.1.isEmpty }
    if kinds.isEmpty { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      for (kind, keys) in kinds {
        writer.key(kind.rawValue)
        writer.array { writer in for key in keys { writer.value(key) } }
      }
    }
    return writer.text
  }
}

extension SQLiteLedger {
  /// Changes are kept of so many exchanges; a reader that is further behind begins again.
  static let changesKept: Int64 = 10_000
  /// How many are dropped at a time.
  private static let changesDropped: Int64 = 1000

  /// Records what has changed. The last statement of a transaction.
  func advance(_ changed: ChangedSubjects, at time: Int64, _ now: Int64) throws -> Position? {
    let subjects = changed.json
    if let subjects {
      try statement(SQL.addChange).run(.integer(lastChange &+ 1), .text(subjects), .integer(now))
    }
    // Where there is no next number, the table refuses it.
    let number = subjects == nil ? lastChange : lastChange &+ 1
    try statement(SQL.advance).run(.integer(number), .integer(time), .integer(clock.sinceBoot()))
    return subjects == nil ? nil : Position(history: history, number: number)
  }

  /// Leaves those that are kept. What fails here is done another time.
  func dropOldChanges() {
    let oldest = try? statement("SELECT min(number) FROM changes").first { $0.optionalInteger(0) }
    guard let oldest = oldest ?? nil, lastChange &- oldest >= Self.changesKept + Self.changesDropped else {
      return
    }
    let last = min(oldest + Self.changesDropped * 10, lastChange - Self.changesKept)
    try? statement("DELETE FROM changes WHERE number <= ?1").run(.integer(last))
  }

  public func position() throws(LedgerError) -> Position {
    try reading {
      try statement("SELECT history, position FROM ledger").first {
        Position(history: $0.integer(0), number: $0.integer(1))
      } ?? Position(history: 0, number: 0)
    }
  }

  public func changes(since: Position, limit: Int) throws(LedgerError) -> ChangePage? {
    try reading { try snapshot { try changesNow(since: since, limit: limit) } }
  }

  private func changesNow(since: Position, limit: Int) throws -> ChangePage? {
    let now = try position()
    guard since.history == now.history, since.number <= now.number else { return nil }
    let oldest = try statement("SELECT min(number) FROM changes").first { $0.optionalInteger(0) } ?? nil
    if since.number < now.number, since.number + 1 < oldest ?? .max { return nil }
    var page = ChangePage(changes: [], next: since, hasMore: false)
    while page.changes.count < limit, page.next.number < now.number {
      page.next.number += 1
      try addChanges(page.next.number, to: &page.changes)
    }
    page.hasMore = page.next.number < now.number
    return page
  }

  private func addChanges(_ number: Int64, to changes: inout [Change]) throws {
    try statement(
      """
      SELECT k.key, CASE k.key
        WHEN 'attachment' THEN (SELECT id FROM attachments WHERE key = s.value)
        WHEN 'deletion' THEN (SELECT id FROM tombstones WHERE key = s.value)
        WHEN 'delivery' THEN (SELECT id FROM deliveries WHERE key = s.value)
        ELSE (SELECT CASE name WHEN '' THEN kind ELSE kind || ':' || name END FROM lanes WHERE key = s.value) END
      FROM changes c, json_each(c.subjects) k, json_each(k.value) s WHERE c.number = ?1
      """
    ).rows(.integer(number)) { row in
      guard let kind = Change.Kind(rawValue: row.text(0)), let id = row.optionalText(1) else { return }
      changes.append(Change(kind, id))
    }
  }
}
