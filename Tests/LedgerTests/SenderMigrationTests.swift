import Foundation
import Pipeline
import Platform
import SQLite
import Testing

@testable import Ledger

/// Ledgers with downloads are brought up: what waits to be fetched is fetched.
struct SenderMigrationTests {
  private static func rows(_ sql: String, _ connection: Connection) throws -> [String] {
    var rows: [String] = []
    try connection.prepare(sql).rows { rows.append($0.text(0)) }
    return rows
  }

  /// The tables before attachments and deliveries had turns.
  private static let tablesOfFourteen = replacing(
    [
      ("turn INTEGER NOT NULL DEFAULT 0,", ""),
      ("jobs_due ON jobs (lane, priority DESC, turn)", "jobs_due ON jobs (lane, priority DESC)"),
    ], in: Schema.tables)

  /// The tables before transfers kept their place in the order of turns.
  private static let tablesOfThirteen = replacing(
    [
      ("in_turn INTEGER,", ""),
      (
        ",\n  CHECK (in_turn IS CASE WHEN sender IS NOT NULL AND (state = 'due' OR state = 'leased') THEN 1 END)",
        ""
      ),
      (
        "jobs_in_turn ON jobs (lane, sender, priority DESC, host) WHERE in_turn = 1",
        "jobs_due_in_turn ON jobs (lane, sender, priority DESC, host) WHERE state = 'due' AND sender IS NOT NULL"
      ),
    ], in: tablesOfFourteen)

  /// The tables before transfers had senders.
  private static let tablesOfEleven = replacing(
    [
      ("sender INTEGER NOT NULL DEFAULT 0,", ""), ("sender INTEGER,", ""),
      (",\n  CHECK ((host IS NULL) = (sender IS NULL))", ""),
      (
        "jobs_due_in_turn ON jobs (lane, sender, priority DESC, host)",
        "jobs_due_by_host ON jobs (lane, host, priority DESC)"
      ),
      ("AND sender IS NOT NULL", "AND host IS NOT NULL"),
    ], in: tablesOfThirteen)

  /// Empty where a part is not there.
  private static func replacing(_ parts: [(part: String, old: String)], in text: String) -> String {
    parts.reduce(text) { $0.contains($1.part) ? $0.replacingOccurrences(of: $1.part, with: $1.old) : "" }
  }

  @Test func theLinksOfVersionElevenAreFetched() throws {
    let desk = try Desk(inFolder: ())
    let file = try desk.folder.path + "/old.db"
    let connection = try Connection(file)
    try connection.execute(Self.tablesOfEleven)
    try connection.execute(
      """
      \(Schema.firstRows);
      \(try Self.link());
      INSERT INTO jobs (key, lane, priority, state, due_at, host)
      VALUES (2, 1, 0, 'waiting', 1, NULL), (\(Schema.transferJobs + 1), 2, 3, 'due', 1, 5);
      UPDATE counts SET attachments = 1 WHERE status = 'queued';
      PRAGMA user_version = 11;
      """)
    #expect(try Self.rows("SELECT 1 FROM pragma_table_info('jobs') WHERE name = 'sender'", connection) == [])
    let ledger = try SQLiteLedger(path: file, clock: desk.clock.value)
    ledger.sealer = OpenSealer()
    let schema = "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
    let made = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(schema, ledger.connection) == Self.rows(schema, made.connection))
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    #expect(try Self.rows("SELECT quote(sender) FROM jobs ORDER BY key", ledger.connection) == ["NULL", "0"])
    #expect(try Self.rows("SELECT quote(sender) FROM transfers", ledger.connection) == ["0"])
    try ledger.inspectRows { Issue.record("\($0.place): \($0.message)") }
    // A user's new link has its turn beside it.
    var item = Desk.item("b")
    (item.source, item.url, item.linkScope) = ([], "https://a.example.com/b", "ann")
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([item])]
    exchange.wanted = [Want(.downloads, 5)]
    #expect(try ledger.exchange(exchange).leases.map(\.priority) == [3, 0])
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
  }

  @Test func theLinksOfVersionThirteenKeepTheirSendersAndTheirTurns() throws {
    let desk = try Desk(inFolder: ())
    let file = try desk.folder.path + "/old.db"
    let connection = try Connection(file)
    try connection.execute(Self.tablesOfThirteen)
    let first = Schema.transferJobs + 1
    try connection.execute(
      """
      \(Schema.firstRows);
      \(try Self.link());
      INSERT INTO coordinators (id, name, number, joined_at) VALUES (1, 'gone', 9, 1);
      UPDATE ledger SET holder = 1;
      INSERT INTO jobs (key, lane, priority, state, due_at, host, sender, holder, token)
      VALUES (2, 1, 0, 'waiting', 1, NULL, NULL, NULL, NULL), (\(first), 2, 0, 'leased', 1, 5, 70, 1, 9),
        (\(first + 1), 2, 0, 'due', 1, 5, 70, NULL, NULL),
        (\(first + 2), 2, 0, 'scheduled', 9000, 5, 71, NULL, NULL), (\(first + 3), 2, 0, 'waiting', 1, 6, 0, NULL, NULL);
      PRAGMA user_version = 13;
      """)
    let ledger = try SQLiteLedger(path: file, clock: desk.clock.value)
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    let places = try Self.rows(
      "SELECT quote(sender) || ' ' || quote(in_turn) FROM jobs ORDER BY key", ledger.connection)
    #expect(places == ["NULL NULL", "70 1", "70 1", "71 NULL", "0 NULL"])
    let indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB '*in_turn' ORDER BY name"
    #expect(try Self.rows(indexes, ledger.connection) == ["jobs_in_turn"])
  }

  @Test func whatWaitsInVersionFourteenIsNobodys() throws {
    let desk = try Desk(inFolder: ())
    let file = try desk.folder.path + "/old.db"
    let connection = try Connection(file)
    try connection.execute(Self.tablesOfFourteen)
    try connection.execute(
      """
      \(Schema.firstRows);
      \(try Self.link());
      INSERT INTO jobs (key, lane, priority, state, due_at) VALUES (2, 1, 0, 'due', 1);
      PRAGMA user_version = 14;
      """)
    let ledger = try SQLiteLedger(path: file, clock: desk.clock.value)
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    #expect(try Self.rows("SELECT quote(turn) FROM jobs", ledger.connection) == ["0"])
    // What comes now has its turn beside it.
    ledger.sealer = OpenSealer()
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Desk.item("b")])]
    exchange.wanted = [Want(.attachments, 5)]
    #expect(try ledger.exchange(exchange).leases.map { $0.turn > 0 } == [true])
  }

  /// An attachment with its link, and the lane of downloads.
  private static func link() throws -> String {
    """
    INSERT INTO messages VALUES ('c', 'm', 'ann', '["ben"]', NULL, 1);
    INSERT INTO attachments (key, id, identity, conversation_id, message_id, own_message, file_name, source_kind, source,
      source_size, source_modified, status, created_at)
    VALUES (1, '0190b5e2-0000-7000-8000-000000000001', zeroblob(32), 'c', 'm', 0, 'a', 'link', x'2f61', 1, 1, 'queued', 1);
    INSERT INTO lanes (kind, name, host, sharing) VALUES ('downloads', '', '', 'shared');
    INSERT INTO transfers (identity, host, request, created_at)
    VALUES (x'\(String(repeating: "07", count: 32))', 5, x'\(try sealedRequest())', 1);
    INSERT INTO links VALUES (1, 1)
    """
  }

  private static func sealedRequest() throws -> String {
    let place = SealedPlace(table: "transfers", column: "request", row: [UInt8](repeating: 7, count: 32))
    return Hexadecimal.text(try OpenSealer().seal(Link(url: "https://a.example.com/a").coded, for: place))
  }
}
