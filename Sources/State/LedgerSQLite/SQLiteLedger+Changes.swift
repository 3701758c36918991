import LedgerPort
import LedgerRules
import Platform
import SQLite

extension SQLiteLedger {
  /// Changes are kept of so many exchanges; a reader that is further behind begins again.
  static let changesKept: Int64 = 10_000
  /// How many are dropped at a time.
  private static let changesDropped: Int64 = 1000

  /// Records what has changed. The last statement of a transaction.
  func advance(_ changed: ChangedSubjects, at time: Int64, _ now: Int64) throws -> Position? {
    let subjects = try json(changed)
    if let subjects {
      try statement(SQL.addChange).run(.integer(lastChange &+ 1), .text(subjects), .integer(now))
    }
    // Where there is no next number, the table refuses it.
    let number = subjects == nil ? lastChange : lastChange &+ 1
    try statement(SQL.advance).run(.integer(number), .integer(time), .integer(clock.sinceBoot()))
    return subjects == nil ? nil : Position(history: history, number: number)
  }

  /// The changes as a JSON object; `nil`: no change.
  private func json(_ changed: ChangedSubjects) throws -> String? {
    if changed.isEmpty { return nil }
    let kinds: [(kind: Change.Kind, keys: [Int64])] = [
      (.attachment, changed.attachments), (.deletion, changed.deletions), (.delivery, changed.deliveries),
      (.lane, try changed.lanes.map(laneKey)), (.conversation, changed.conversations),
    ]
    var writer = JSONWriter()
    writer.object { writer in
      for (kind, keys) in kinds where !keys.isEmpty {
        writer.key(kind.rawValue)
        writer.array { writer in for key in keys { writer.value(key) } }
      }
    }
    return writer.text
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
        WHEN 'conversation' THEN (SELECT id FROM conversations WHERE key = s.value)
        ELSE (SELECT CASE name WHEN '' THEN kind ELSE kind || ':' || name END FROM lanes WHERE key = s.value) END
      FROM changes c, json_each(c.subjects) k, json_each(k.value) s WHERE c.number = ?1
      """
    ).rows(.integer(number)) { row in
      guard let kind = Change.Kind(rawValue: row.text(0)), let id = row.optionalText(1) else { return }
      changes.append(Change(kind, id))
    }
  }
}
