import Foundation
import Pipeline
import Platform
import SQLite
import Testing

@testable import Ledger

/// Ledgers with trees of contents are brought up: a tree has used none of its time then.
struct TreeMigrationTests {
  private static func rows(_ sql: String, _ connection: Connection) throws -> [String] {
    var rows: [String] = []
    try connection.prepare(sql).rows { rows.append($0.text(0)) }
    return rows
  }

  @Test func theTreesOfVersionTwelveGoOn() throws {
    let desk = try Desk(inFolder: ())
    let file = try desk.folder.path + "/old.db"
    let connection = try Connection(file)
    let column = "microseconds INTEGER NOT NULL DEFAULT 0 CHECK (microseconds >= 0),"
    try #require(Schema.tables.contains(column))
    try connection.execute(Schema.tables.replacingOccurrences(of: column, with: ""))
    try connection.execute(
      """
      \(Schema.firstRows);
      INSERT INTO messages VALUES ('c', 'm', 'ann', '["ben"]', NULL, 1);
      INSERT INTO attachments (key, id, identity, conversation_id, message_id, own_message, file_name, source_kind, source,
        source_size, source_modified, status, created_at, parent)
      VALUES (1, '0190b5e2-0000-7000-8000-000000000001', zeroblob(32), 'c', 'm', 0, 'a', 'file', x'2f61', 1, 1, 'queued', 1, NULL),
        (2, '0190b5e2-0000-7000-8000-000000000002', x'\(String(repeating: "07", count: 32))', 'c', 'm', 0, 'b', 'file', x'2f62', 1, 1,
         'queued', 1, 1);
      INSERT INTO expansions (attachment_key, contents, bytes, open, waits) VALUES (1, 1, 1, 1, 1);
      INSERT INTO jobs (key, lane, priority, state, due_at) VALUES (2, 1, 0, 'expanded', 1), (4, 1, 0, 'due', 1);
      UPDATE counts SET attachments = 2 WHERE status = 'queued';
      PRAGMA user_version = 12;
      """)
    let ledger = try SQLiteLedger(path: file, clock: desk.clock.value)
    let schema = "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
    let made = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(schema, ledger.connection) == Self.rows(schema, made.connection))
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    try ledger.inspectRows { Issue.record("\($0.place): \($0.message)") }
    var exchange = Exchange(number: 1)
    exchange.wanted = [Want(.attachments, 5)]
    let leases = try ledger.exchange(exchange).leases
    guard leases.count == 1, case .attachment(let child) = leases[0].work else {
      Issue.record("the child alone is due: \(leases)")
      return
    }
    #expect(child.place == TreePlace(depth: 1, contents: 1, bytes: 1, microseconds: 0))
    let step = Step(stage: "a", verdict: "pass", code: nil, message: nil, microseconds: 7)
    exchange = Exchange(number: 2)
    exchange.settlements = [
      Settlement(
        leases[0],
        .attachment(
          EndedAttachment(
            child, AttachmentOutcome(.failed, reason: Reason(stage: "a", code: "b", message: "c")),
            attempt: 1, steps: [step], events: [])))
    ]
    _ = try ledger.exchange(exchange)
    #expect(try Self.rows("SELECT microseconds FROM expansions", ledger.connection) == ["7"])
  }
}
