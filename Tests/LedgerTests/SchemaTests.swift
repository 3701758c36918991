import SQLite
import Testing

@testable import Ledger

/// The tables refuse inconsistent rows, whichever program writes them.
struct SchemaTests {
  private static let nonsense = [
    "UPDATE jobs SET state = 'leased'",
    "UPDATE jobs SET state = 'leased', token = 1",
    "UPDATE jobs SET token = 1, boot = 1",
    "UPDATE jobs SET boot = 1",
    "UPDATE jobs SET state = 'done'",
    "UPDATE jobs SET attachment_key = NULL",
    "UPDATE jobs SET delivery_key = 1 WHERE attachment_key IS NOT NULL",
    "UPDATE jobs SET attachment_key = 99",
    "UPDATE jobs SET priority = 'high'",
    "INSERT INTO jobs (lane, priority, attachment_key, state, due_at) VALUES ('attachments', 0, 2, 'due', 0)",
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
    "UPDATE attachments SET source = (SELECT max(source) FROM attachments), message_id = 'm', own_message = 0",
    "DELETE FROM attachments",
    "DELETE FROM messages",
    "UPDATE messages SET participants = '{}'",
    "UPDATE messages SET participants = '\"ann\"'",
    "UPDATE messages SET conversation_id = ''",
    "UPDATE counts SET attachments = -1",
    "UPDATE counts SET bytes = -1",
    "INSERT INTO counts VALUES ('lost', 0, 0)",
    "INSERT INTO ledger VALUES (2, 0, 0, 0, '', 0, 0)",
    "INSERT INTO ledger VALUES (1, 0, 0, 0, '', 0, 0)",
    "INSERT INTO lanes VALUES ('x', 'code', 'reason', NULL)",
    "INSERT INTO lanes VALUES ('x', 'code', NULL, 1)",
    "UPDATE deliveries SET status = 'delivered'",
    "UPDATE deliveries SET finished_at = 1",
    "UPDATE deliveries SET status = 'dead', finished_at = 1",
    "UPDATE deliveries SET status = 'lost', finished_at = 1",
    "INSERT INTO deliveries (id, event_key, channel, recipient, status) SELECT 'new', event_key, channel, recipient, 'pending' FROM deliveries",
    "INSERT INTO deliveries (id, event_key, channel, recipient, status) VALUES ('new', 99, 'x', 'y', 'pending')",
    "DELETE FROM events",
    "INSERT INTO attempts VALUES (99, 1, 0, 'x', 'pass', NULL, NULL, 0, 0)",
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
