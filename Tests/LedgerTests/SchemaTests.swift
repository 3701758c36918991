import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// The tables refuse inconsistent rows, whichever program writes them.
struct SchemaTests {
  private static let nonsense = [
    "UPDATE jobs SET state = 'leased'",
    "UPDATE jobs SET state = 'leased', token = 1",
    "UPDATE jobs SET token = 1, holder = 1",
    "UPDATE jobs SET holder = 1",
    "UPDATE jobs SET state = 'done'",
    "UPDATE jobs SET subject = 1",
    "UPDATE jobs SET lane = 99",
    "UPDATE jobs SET priority = 'high'",
    "INSERT INTO jobs (kind, subject, lane, priority, state, due_at) VALUES ('attachment', 2, 1, 0, 'due', 0)",
    "INSERT INTO jobs (kind, subject, lane, priority, state, due_at, holder, token) VALUES ('attachment', 9, 1, 0, 'due', 0, 1, 1)",
    "UPDATE attachments SET status = 'completed'",
    "UPDATE attachments SET finished_at = 1",
    "UPDATE attachments SET status = 'rejected', finished_at = 1",
    "UPDATE attachments SET status = 'lost', finished_at = 1, reason_code = 'x'",
    "UPDATE attachments SET reason_code = 'x'",
    "UPDATE attachments SET status = 'completed', finished_at = 1, reason_code = 'x'",
    "UPDATE attachments SET url = 'a', sha256 = zeroblob(32)",
    "UPDATE attachments SET status = 'completed', finished_at = 1, url = 'a'",
    "UPDATE attachments SET sha256 = zeroblob(31)",
    "UPDATE attachments SET size_bytes = -1",
    "UPDATE attachments SET source = 'a text'",
    "UPDATE attachments SET own_message = 2",
    "UPDATE attachments SET message_id = 'nobody'",
    "UPDATE attachments SET key = 1, id = (SELECT max(id) FROM attachments)",
    "UPDATE attachments SET identity = (SELECT max(identity) FROM attachments)",
    "UPDATE attachments SET identity = zeroblob(31)",
    "UPDATE attachments SET source_kind = 'url'",
    "UPDATE attachments SET fingerprint_key = 99",
    "DELETE FROM attachments",
    "DELETE FROM messages",
    "UPDATE messages SET participants = '{}'",
    "UPDATE messages SET participants = '\"ann\"'",
    "UPDATE messages SET conversation_id = ''",
    "INSERT INTO counts VALUES (0, 'lost', 0, 0)",
    "INSERT INTO counts VALUES (0, 'queued', 0, 0)",
    "INSERT INTO ledger VALUES (2, 0, 0, 0, 0, 0, '', 0, NULL, NULL)",
    "INSERT INTO ledger VALUES (1, 0, 0, 0, 0, 0, '', 0, NULL, NULL)",
    "UPDATE ledger SET position = -1",
    "UPDATE coordinators SET number = -1",
    "INSERT INTO changes SELECT * FROM changes",
    "INSERT INTO lanes (kind, name, host, sharing) VALUES ('attachments', 'x', '', 'shared')",
    "INSERT INTO lanes (kind, name, host, sharing) VALUES ('channel', '', '', 'exclusive')",
    "INSERT INTO lanes (kind, name, host, sharing) VALUES ('channel', 'events', '', 'exclusive')",
    "INSERT INTO lanes (kind, name, host, sharing) VALUES ('files', '', '', 'shared')",
    "UPDATE lanes SET sharing = 'lent'",
    "DELETE FROM lanes",
    "INSERT INTO pauses VALUES (99, 'person', 'code', 'reason', 'ann', 1)",
    "INSERT INTO pauses VALUES (1, 'nobody', 'code', 'reason', 'ann', 1)",
    "INSERT INTO pauses VALUES (1, 'person', 'code', NULL, 'ann', 1)",
    "INSERT INTO names VALUES ('documents/z', zeroblob(32), 1)",
    "INSERT INTO names VALUES ('documents/y', zeroblob(31), 1)",
    "UPDATE names SET uses = -1",
    "UPDATE ledger SET residue = 2",
    "INSERT INTO tombstones (id, identity, deleted_by, deleted_at) VALUES ('x', zeroblob(32), 'ann', 1)",
    "INSERT INTO tombstones (id, identity, deleted_by, deleted_at) VALUES ('x', zeroblob(16), NULL, 1)",
    "UPDATE attachments SET status = 'cancelled', finished_at = 1",
    "UPDATE deliveries SET status = 'dropped'",
    "UPDATE deliveries SET status = 'delivered'",
    "UPDATE deliveries SET finished_at = 1",
    "UPDATE deliveries SET status = 'dead', finished_at = 1",
    "UPDATE deliveries SET status = 'lost', finished_at = 1",
    "INSERT INTO deliveries (id, event_key, channel, recipient, status) SELECT 'new', event_key, channel, recipient, 'pending' FROM deliveries",
    "INSERT INTO deliveries (id, event_key, channel, recipient, status) VALUES ('new', 99, 'x', 'y', 'pending')",
    "DELETE FROM events",
    "INSERT INTO attempts VALUES (99, 1, '[]', 0)",
    "INSERT INTO attempts SELECT * FROM attempts",
  ]

  @Test(arguments: nonsense)
  func whatMakesNoSenseIsRefused(sql: String) throws {
    let desk = try Desk()
    try desk.takeIn(Desk.item("z", message: "m"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    try desk.takeIn(Desk.item("a", message: "m"), Desk.item("b", message: "m"))
    let before = try desk.everything()
    let error = try #require(throws: SQLiteError.self) { try desk.execute(sql) }
    #expect(ResultCode.constraint ~= error.code, "\(error)")
    #expect(try desk.everything() == before)
  }
}
