import Foundation
import Pipeline
import SQLite
import Testing

@testable import Ledger

/// Ledgers that older programs made are brought up, with all that is in them.
struct MigrationTests {
  private let folder: Folder
  private let clock = TestClock()

  init() throws { folder = try Folder() }

  /// Deleted when the test ends.
  private final class Folder {
    let path = NSTemporaryDirectory() + "sluice-migration-" + UUID().uuidString

    init() throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private var file: String { folder.path + "/sluice.db" }

  private func open() throws -> SQLiteLedger { try SQLiteLedger(path: file, clock: clock.value) }

  /// Makes an old ledger. Returns what statements give, before anything is brought up.
  private func make(_ version: Int = 3, rows: String = OldLedger.rows, _ queries: [String] = []) throws
    -> [[String]]
  {
    let connection = try OldLedger.make(file, version: version, rows: rows)
    return try queries.map { try Self.rows($0, connection) }
  }

  private static func rows(_ sql: String, _ connection: Connection) throws -> [String] {
    var rows: [String] = []
    try connection.prepare(sql).rows { rows.append($0.text(0)) }
    return rows
  }

  private static func findings(_ ledger: SQLiteLedger) throws -> [String] {
    var findings: [String] = []
    try ledger.inspectFile { findings.append("\($0.place): \($0.message)") }
    try ledger.inspectRows { findings.append("\($0.place): \($0.message)") }
    return findings
  }

  // MARK: What is there

  /// A statement for the old tables, and one for the new ones, that give the same.
  private static func pair(
    _ from: String, _ columns: String, old: (from: String?, [String: String]) = (nil, [:]),
    new: (from: String?, [String: String]) = (nil, [:])
  ) -> (old: String, new: String) {
    func select(_ table: String, _ names: [String: String]) -> String {
      let all = columns.split(separator: " ").map { "quote(\(names[String($0)] ?? String($0)))" }
      return "SELECT \(all.joined(separator: "||' '||")) AS line FROM \(table) ORDER BY line"
    }
    return (select(old.from ?? from, old.1), select(new.from ?? from, new.1))
  }

  private static let pairs = [
    pair("counts", "status attachments bytes", new: ("counts WHERE status <> 'cancelled'", [:])),
    pair("messages", "conversation_id message_id sender_id participants text created_at"),
    pair("lines", "key fingerprint", new: ("fingerprints", [:])),
    pair(
      "attachments",
      """
      key id conversation_id message_id own_message file_name declared_type source source_size source_modified folder status \
      media_type size_bytes sha256 metadata url reason_stage reason_code reason_message created_at finished_at line_key
      """, old: (nil, ["folder": "NULL"]),
      new: (nil, ["folder": "source_folder_device", "line_key": "fingerprint_key"])),
    pair("events", "key attachment_key type data created_at"),
    pair(
      "deliveries", "key id event_key channel recipient status reason_code reason_message finished_at"),
    // What was leased is due, and was lost once more.
    pair(
      "jobs",
      "key attachment delivery lane priority state due_at holder token attempts uncounted crashes losses",
      old: (
        nil,
        [
          "key": "coalesce(attachment_key * 2, delivery_key * 2 + 1)", "attachment": "attachment_key",
          "delivery": "delivery_key", "holder": "NULL", "token": "NULL",
          "state": "CASE state WHEN 'leased' THEN 'due' ELSE state END",
          "uncounted": "uncounted + (state = 'leased')", "losses": "suspicions + (state = 'leased')",
        ]
      ),
      new: (
        "queue j JOIN lanes l ON l.key = j.lane",
        [
          "key": "j.key", "attachment": "CASE j.kind WHEN 'attachment' THEN subject END",
          "delivery": "CASE j.kind WHEN 'delivery' THEN subject END",
          "lane": "CASE l.kind WHEN 'channel' THEN 'channel:' || l.name ELSE l.kind END",
        ]
      )),
    pair(
      "attempts", "attachment_key number step stage verdict code message microseconds recorded_at",
      new: ("steps", [:])),
  ]

  @Test func everyRowIsThereWithTheSameValues() throws {
    let before = try make(3, Self.pairs.map(\.old))
    #expect(before.map(\.count) == [5, 6, 2, 9, 4, 6, 6, 9])
    let ledger = try open()
    for (pair, rows) in zip(Self.pairs, before) {
      #expect(try Self.rows(pair.new, ledger.connection) == rows)
    }
    #expect(try Self.rows("PRAGMA user_version", ledger.connection) == ["\(Schema.version)"])
    let names = "SELECT path || ' ' || hex(substr(sha256, 1, 1)) || ' ' || uses FROM names ORDER BY path"
    #expect(
      try Self.rows(names, ledger.connection) == [
        "documents/one.pdf 09 2", "images/3.jpg 07 1", "quarantine/virus.exe 08 1",
      ])
    #expect(ledger.holder == 8, "coordinators go on where they were")
    #expect(try ledger.status().lanes.allSatisfy { $0.pause == nil }, "a start lifts what a program paused")
  }

  @Test(arguments: 1...4) func itIsWholeAndLikeANewOne(version: Int) throws {
    let rows =
      version == 3
      ? OldLedger.rows
      : version == 4 ? OldLedger.rows + "; UPDATE attachments SET source_folder_device = key" : ""
    _ = try make(version, rows: rows)
    let ledger = try open()
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    #expect(try Self.rows("PRAGMA foreign_key_check", ledger.connection) == [])
    #expect(try Self.rows("PRAGMA foreign_keys", ledger.connection) == ["1"])
    #expect(try Self.findings(ledger) == [])
    let schema = "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
    let new = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(schema, ledger.connection) == Self.rows(schema, new.connection))
    let devices = try Self.rows("SELECT source_folder_device FROM attachments", ledger.connection)
    let expected: [String] =
      switch version {
      case 4: (1...9).map { "\($0)" }
      case 3: Array(repeating: "", count: 9)
      default: []
      }
    #expect(devices == expected)
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Desk.item("new")])]
    exchange.wanted = [Want(.attachments, 1)]
    #expect(try ledger.exchange(exchange).leases.count == 1)
  }

  @Test func theSameFilesAreKnown() throws {
    let connection = try OldLedger.make(file, version: 3, rows: OldLedger.rows)
    var items: [IntakeItem] = []
    try connection.prepare(
      """
      SELECT a.conversation_id, CASE own_message WHEN 0 THEN message_id END, sender_id, source, source_size, source_modified
      FROM attachments a JOIN messages USING (conversation_id, message_id)
      """
    ).rows { row in
      items.append(
        IntakeItem(
          conversationId: row.text(0), messageId: row.optionalText(1), senderId: row.text(2),
          source: row.blob(3), sourceSize: row.integer(4), sourceModified: row.integer(5)))
    }
    let ledger = try open()
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn(items)]
    var report = IntakeReport()
    (report.known, report.knownNotCompleted) = (9, 3)
    #expect(Desk.counted(try ledger.exchange(exchange).results) == [.takenIn(report)])
    // And another version of one of them is not.
    exchange = Exchange(number: 2)
    items[0].sourceModified += 1
    exchange.commands = [.takeIn(Array(items.prefix(1)))]
    (report.added, report.known, report.knownNotCompleted) = (1, 0, 0)
    #expect(Desk.counted(try ledger.exchange(exchange).results) == [.takenIn(report)])
  }

  @Test func manyAttachmentsAreBroughtUp() throws {
    let many = """
      INSERT INTO messages VALUES ('c', 'm', 'ann', '[]', NULL, 1);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2345)
      INSERT INTO attachments (key, id, conversation_id, message_id, own_message, file_name, source, source_size,
        source_modified, status, created_at)
      SELECT i * 3 - 1000, printf('0192f0e4-7c3a-7000-8a00-%012x', i), 'c', 'm', 0, 'f', CAST('/in/' || i AS BLOB), i, i,
        'queued', 1 FROM n;
      INSERT INTO jobs (lane, priority, attachment_key, state, due_at)
      SELECT 'attachments', 0, key, 'due', 1 FROM attachments;
      UPDATE counts SET attachments = 2345 WHERE status = 'queued'
      """
    _ = try make(3, rows: many)
    let ledger = try open()
    #expect(try Self.rows("SELECT count(*) FROM attachments", ledger.connection) == ["2345"])
    #expect(try Self.rows("SELECT count(DISTINCT identity) FROM attachments", ledger.connection) == ["2345"])
    #expect(try Self.findings(ledger) == [])
  }

  @Test func whatWaitsWaitsAsLongAsItWasTo() throws {
    _ = try make()
    clock.set(by: -86_400_000)
    let due = { (ledger: SQLiteLedger) throws -> Int64? in
      var exchange = Exchange(number: 1)
      exchange.wanted = [Want(.attachments, 0)]
      return try ledger.exchange(exchange).lanes.first?.nextDue
    }
    // When the old program last recorded something, it was to wait for so long.
    #expect(try due(open()) == 9_000_000 - 900)
  }

  // MARK: From 5

  /// The values of all rows of a table, in the order of its columns.
  private static func rows(of table: String, _ columns: [String], _ connection: Connection) throws -> [String]
  {
    let values = columns.map { "quote(\($0))" }.joined(separator: " || ' ' || ")
    return try rows("SELECT \(values) AS line FROM \(table) ORDER BY line", connection)
  }

  // MARK: From 6

  /// The table of jobs as version 6 had it, with the rows of today's.
  private static let jobsOfSix = """
    DROP VIEW queue;
    ALTER TABLE jobs RENAME TO new_jobs;
    DROP INDEX jobs_due; DROP INDEX jobs_scheduled; DROP INDEX jobs_leased; DROP INDEX jobs_lost;
    CREATE TABLE jobs (
      key INTEGER PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind = 'attachment' OR kind = 'delivery'),
      subject INTEGER NOT NULL,
      lane INTEGER NOT NULL REFERENCES lanes,
      priority INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state = 'due' OR state = 'scheduled' OR state = 'leased'),
      due_at INTEGER NOT NULL,
      holder INTEGER,
      token INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      uncounted INTEGER NOT NULL DEFAULT 0,
      crashes INTEGER NOT NULL DEFAULT 0,
      losses INTEGER NOT NULL DEFAULT 0,
      cancelled TEXT,
      CHECK ((state = 'leased') = (holder IS NOT NULL)),
      CHECK ((holder IS NULL) = (token IS NULL))
    ) STRICT;
    CREATE INDEX jobs_due ON jobs (lane, priority DESC, key) WHERE state = 'due';
    CREATE INDEX jobs_scheduled ON jobs (lane, due_at) WHERE state = 'scheduled';
    CREATE INDEX jobs_leased ON jobs (key) WHERE state = 'leased';
    CREATE INDEX jobs_lost ON jobs (lane) WHERE losses >= 3;
    CREATE UNIQUE INDEX jobs_by_subject ON jobs (kind, subject);
    INSERT INTO jobs SELECT 1000 - key, CASE key & 1 WHEN 0 THEN 'attachment' ELSE 'delivery' END, key >> 1, lane, priority, state,
      due_at, holder, token, attempts, uncounted, crashes, losses, cancelled FROM new_jobs;
    DROP TABLE new_jobs;
    DROP TABLE links;
    DROP TABLE transfers;
    DROP TABLE tokens;
    DROP TABLE uploads;
    DROP TABLE derived;
    DROP TABLE expansions;
    PRAGMA user_version = 6;
    """

  @Test func theQueueOfVersionSixIsThere() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"), Desk.item("d"))
    let leases = try desk.claim(3)
    try desk.settle(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event(["ben", "eve"])] })
    try desk.settle(leases[1], Desk.again(leases[1], after: 60_000))
    let connection = desk.ledger.connection
    let rows = try Self.rows(of: "queue", Self.queueColumns, connection)
    #expect(rows.count == 5)
    try connection.execute(Self.jobsOfSix)
    try Migration(connection: connection).run(from: 6)
    #expect(try Self.rows(of: "queue", Self.queueColumns, connection) == rows)
    #expect(try Self.rows("PRAGMA integrity_check", connection) == ["ok"])
    let made = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(Self.schema, connection) == Self.rows(Self.schema, made.connection))
  }

  /// The tables before there were downloads.
  private static let tablesOfSeven: String = {
    var text = Schema.tables
    for part in [
      " OR kind = 'downloads'", " OR cause = 'hand'", " OR source_kind = 'link'", " OR state = 'waiting'",
      "CREATE INDEX jobs_waiting ON jobs (key) WHERE state = 'waiting';",
      ",\n  home_id BLOB CHECK (length(home_id) = 16)",
    ] {
      text = text.replacingOccurrences(of: part, with: "")
    }
    guard let start = text.range(of: "CREATE TABLE transfers"),
      let end = text.range(of: "-- The queue: what is due")
    else { return "" }
    text.removeSubrange(start.lowerBound..<end.lowerBound)
    return text
  }()

  @Test func aLedgerOfVersionSevenTakesLinks() throws {
    let connection = try Connection(file)
    try connection.execute(Self.tablesOfSeven)
    try connection.execute(
      """
      \(Schema.firstRows.replacingOccurrences(of: ", NULL)", with: ")"));
      INSERT INTO messages VALUES ('c', 'm', 'ann', '["ben"]', NULL, 1);
      INSERT INTO attachments (key, id, identity, conversation_id, message_id, own_message, file_name, source_kind, source,
        source_size, source_modified, status, created_at)
      VALUES (1, '0190b5e2-0000-7000-8000-000000000001', zeroblob(32), 'c', 'm', 0, 'a', 'file', x'2f61', 1, 1, 'queued', 1);
      INSERT INTO jobs (key, lane, priority, state, due_at) VALUES (2, 1, 0, 'due', 1);
      UPDATE counts SET attachments = 1 WHERE status = 'queued';
      PRAGMA user_version = 7;
      """)
    #expect(throws: SQLiteError.self) {
      try connection.execute(
        "INSERT INTO lanes (kind, name, host, sharing) VALUES ('downloads', '', '', 'shared')")
    }
    let ledger = try open()
    let made = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(Self.schema, ledger.connection) == Self.rows(Self.schema, made.connection))
    #expect(try Self.rows("PRAGMA integrity_check", ledger.connection) == ["ok"])
    var exchange = Exchange(number: 1)
    exchange.wanted = [Want(.attachments, 5), Want(.downloads, 5)]
    #expect(try ledger.exchange(exchange).leases.map(\.job) == [2])
    #expect(try Self.findings(ledger) == [])
    // Another connection reads the new statements.
    let other = try SQLiteLedger(path: file, clock: clock.value)
    #expect(try Self.rows(Self.schema, other.connection) == Self.rows(Self.schema, made.connection))
  }

  private static let queueColumns = [
    "key", "kind", "subject", "lane", "priority", "state", "due_at", "holder", "token", "attempts",
    "uncounted", "crashes",
    "losses", "cancelled",
  ]

  private static let schema =
    "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"

  @Test func everyRowOfVersionFiveIsThereWithTheSameValues() throws {
    let connection = try OldLedger.make(file, version: 5, rows: OldLedger.rowsOfFive)
    let tables = try Self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'", connection)
    #expect(tables.count == 14)
    var before: [String: (columns: [String], rows: [String])] = [:]
    for table in tables + ["steps"] {
      let columns = try Self.rows("SELECT name FROM pragma_table_info('\(table)')", connection)
      if table == "jobs" {
        // Their keys are others now.
        let same = columns.filter { $0 != "key" }
        before["queue"] = (same, try Self.rows(of: "jobs", same, connection))
        continue
      }
      before[table] = (columns, try Self.rows(of: table, columns, connection))
      #expect(before[table]?.rows.isEmpty == false, "\(table) has no rows to lose")
    }
    try Migration(connection: connection).run(from: 5)
    for (table, (columns, rows)) in before {
      let condition = table == "counts" ? " WHERE status <> 'cancelled'" : ""
      #expect(try Self.rows(of: table + condition, columns, connection) == rows, "\(table)")
    }
    let new = [
      "SELECT residue FROM ledger", "SELECT attachments + bytes FROM counts WHERE status = 'cancelled'",
    ]
    for sql in new { #expect(try Self.rows(sql, connection) == ["0"]) }
    let empty = [
      "SELECT 1 FROM attachments WHERE reference IS NOT NULL",
      "SELECT 1 FROM jobs WHERE cancelled IS NOT NULL",
      "SELECT 1 FROM tombstones", "PRAGMA foreign_key_check",
    ]
    for sql in empty { #expect(try Self.rows(sql, connection) == []) }
    #expect(try Self.rows("PRAGMA integrity_check", connection) == ["ok"])
    let made = try SQLiteLedger(path: ":memory:")
    #expect(try Self.rows(Self.schema, connection) == Self.rows(Self.schema, made.connection))
  }

  @Test func aLedgerOfVersionFiveGoesOn() throws {
    _ = try OldLedger.make(file, version: 5, rows: OldLedger.rowsOfFive)
    let ledger = try open()
    #expect(try Self.findings(ledger) == [])
    var exchange = Exchange(number: 1)
    exchange.wanted = [LaneName.attachments, .channel("events")].map { Want($0, 9) }
    let reply = try ledger.exchange(exchange)
    // A person's pause stays, and a fault's is lifted.
    #expect(reply.lanes.map { $0.pause?.cause } == [nil, .person])
    #expect(
      reply.leases.map(Desk.name) == ["leased"], "it was in hand of three lost coordinators: it is alone")
    exchange = Exchange(number: 2)
    exchange.commands = (1...6).map { .delete(OldLedger.id($0)) }
    #expect(try ledger.exchange(exchange).results.allSatisfy { $0 == .done(hasChanged: true) })
    #expect(try ledger.objectsToDelete(limit: 9) == ["documents/completed"])
    #expect(try Self.findings(ledger) == [])
  }

  /// What the new tables refuse, one in each table that can have such a row.
  static let obstaclesOfFive = [
    "UPDATE ledger SET position = -1", "UPDATE coordinators SET number = -1",
    "INSERT INTO counts VALUES (1, 'lost', 0, 0)",
    "UPDATE lanes SET sharing = 'lent' WHERE kind = 'channel'",
    "UPDATE pauses SET cause = 'nobody' WHERE cause = 'fault'",
    "UPDATE messages SET participants = '{}'", "UPDATE attachments SET own_message = 2 WHERE key = 6",
    "UPDATE names SET sha256 = x'00'", "UPDATE deliveries SET finished_at = 1 WHERE status = 'pending'",
    "UPDATE jobs SET state = 'done' WHERE state = 'due'",
  ]

  @Test(arguments: obstaclesOfFive) func oneOfVersionFiveThatIsInterruptedIsAsItWas(obstacle: String) throws {
    let connection = try OldLedger.make(file, version: 5, rows: OldLedger.rowsOfFive)
    try connection.execute("PRAGMA ignore_check_constraints = ON; \(obstacle)")
    let before = (try Desk.rows(of: connection), try Self.rows(Self.schema, connection))
    for _ in 0..<2 {
      let error = try #require(throws: LedgerError.self) { _ = try open() }
      #expect(error.code == .damaged, "\(error)")
      #expect(try Self.rows("PRAGMA user_version", connection) == ["5"])
      #expect(try Desk.rows(of: connection) == before.0)
      #expect(try Self.rows(Self.schema, connection) == before.1)
    }
  }

  // MARK: Interrupted

  /// Rows that the old tables took and the new ones refuse, where the old ones were tampered with: before and after attachments are
  /// copied. And what puts them right.
  static let obstacles = [
    (
      rows: "UPDATE jobs SET lane = 'channel:' WHERE key = 14",
      repair: "UPDATE jobs SET lane = 'channel:events' WHERE key = 14"
    ),
    (
      rows: """
      DROP INDEX attachments_by_source;
      UPDATE attachments SET source = x'2f61', source_size = 1, source_modified = 1, conversation_id = 'd', message_id = 'm2'
        WHERE key IN (4, 8)
      """,
      repair: "UPDATE attachments SET source = x'2f62' WHERE key = 8"
    ),
    (
      rows: "PRAGMA ignore_check_constraints = ON; UPDATE deliveries SET finished_at = 1 WHERE key = 3",
      repair: "UPDATE deliveries SET finished_at = NULL WHERE key = 3"
    ),
  ]

  @Test(arguments: obstacles.indices) func oneThatIsInterruptedIsAsItWas(index: Int) throws {
    let obstacle = Self.obstacles[index]
    let schema = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
    do {
      let connection = try OldLedger.make(file, version: 3, rows: OldLedger.rows)
      try connection.execute(obstacle.rows)
      let before = (try Desk.rows(of: connection), try Self.rows(schema, connection))
      for _ in 0..<2 {
        let error = try #require(throws: LedgerError.self) { _ = try open() }
        #expect(error.code == .damaged, "\(error)")
        #expect(try Self.rows("PRAGMA user_version", connection) == ["3"])
        #expect(try Desk.rows(of: connection) == before.0)
        #expect(try Self.rows(schema, connection) == before.1)
        #expect(try Self.rows("PRAGMA integrity_check(1)", connection) == ["ok"] || index == 2)
      }
      try connection.execute(obstacle.repair)
    }
    let ledger = try open()
    #expect(try Self.rows("PRAGMA user_version", ledger.connection) == ["\(Schema.version)"])
    #expect(try Self.rows("SELECT count(*) FROM attachments", ledger.connection) == ["9"])
    #expect(try Self.findings(ledger) == [])
  }

  @Test func aReaderOfAnOldLedgerSaysWhatBringsItUp() throws {
    _ = try make()
    let error = try #require(throws: LedgerError.self) { _ = try SQLiteLedger(reading: Home(folder.path)) }
    #expect(error.code == .inUse)
    #expect(error.description.contains("has schema version 3, and this sluice reads \(Schema.version)"))
    #expect(error.description.contains("`sluice ingest`"))
  }

  // MARK: Afterwards

  @Test func allItsWorkCanBeFinished() throws {
    _ = try make()
    let ledger = try open()
    var exchange = Exchange(number: 1)
    exchange.commands = [LaneName.attachments, .channel("hook")].map { .lane(LaneCommand($0, .hasten)) }
    #expect(try ledger.exchange(exchange).results == Array(repeating: .done(hasChanged: true), count: 2))
    var order: [String] = []
    while order.count < 100 {
      exchange = Exchange(number: exchange.number + 1)
      exchange.wanted = [LaneName.attachments, .channel("events"), .channel("hook")].map { Want($0, 1) }
      let leases = try ledger.exchange(exchange).leases
      if leases.isEmpty { break }
      exchange = Exchange(number: exchange.number + 1)
      for lease in leases {
        switch lease.work {
        case .attachment(let attachment):
          order.append("\(attachment.origin.fileName) \(lease.attempt) \(lease.counted) \(lease.losses)")
          exchange.settlements.append(
            Settlement(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] }))
        case .delivery(let delivery):
          order.append("\(delivery.channel) \(delivery.recipient) \(lease.attempt) \(lease.losses)")
          exchange.settlements.append(Settlement(lease, .delivered(key: delivery.key)))
        case .transfer: Issue.record("there were no links")
        }
      }
      #expect(try ledger.exchange(exchange).settled.allSatisfy { $0 == .counted })
    }
    #expect(
      Set(order) == [
        "scheduled.txt 3 2 0", "due.txt 1 1 0", "leased.txt 4 2 3", "events ann 1 0", "hook ben 2 2",
        "hook ann 5 0", "events ben 1 0", "events ben 2 0",
      ])
    #expect(order.count == 9, "the three that were queued tell ben")
    let status = try ledger.status()
    #expect(status.lanes.isEmpty && status.deadLetters == 1)
    #expect(status.attachments.first { $0.status == .completed }?.count == 6)
    #expect(try Self.findings(ledger) == [])
  }

  @Test func anAttachmentThatHadEndedIsTriedAgain() throws {
    _ = try make()
    let ledger = try open()
    let virus = "0192f0e4-7c3a-7008-8a00-000000000008"
    var exchange = Exchange(number: 1)
    exchange.commands = [.retry(virus)]
    #expect(try ledger.exchange(exchange).results == [.done(hasChanged: true)])
    #expect(try !ledger.hasName("quarantine/virus.exe"))
    exchange = Exchange(number: 2)
    exchange.wanted = [Want(.attachments, 9)]
    let lease = try #require(try ledger.exchange(exchange).leases.first { Desk.id($0) == virus })
    #expect(lease.attempt == 4 && lease.counted == 1)
    #expect(try Self.findings(ledger) == [])
  }
}
