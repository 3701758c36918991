import Pipeline
import Platform
import SQLite

/// Brings ledgers of older versions up, in one transaction: interrupted anywhere, it begins again with the old one.
struct Migration {
  let connection: Connection

  /// Up to version 4, statements did.
  private static let older: [String] = [second, third, fourth]

  /// From 1 to 2: `seen_at` is the last time that a coordinator recorded.
  private static let second = "ALTER TABLE ledger ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0"

  /// From 2 to 3: `line_key` identifies the stages, with their bases, that an attachment's content passed first.
  private static let third = """
    CREATE TABLE lines (
      key INTEGER PRIMARY KEY,
      fingerprint TEXT NOT NULL UNIQUE
    ) STRICT;
    ALTER TABLE attachments ADD COLUMN line_key INTEGER REFERENCES lines;
    CREATE INDEX deliveries_dead ON deliveries (key) WHERE status = 'dead';
    """

  /// From 3 to 4: the device of the source's folder, and the due time of each lane's next job.
  private static let fourth = """
    ALTER TABLE attachments ADD COLUMN source_folder_device INTEGER;
    DROP INDEX jobs_scheduled;
    CREATE INDEX jobs_scheduled ON jobs (lane, due_at) WHERE state = 'scheduled';
    """

  /// - Parameter version: of the ledger, from 1; older than this program's.
  func run(from version: Int64) throws {
    // Tables are replaced by ones of the same name; only outside a transaction does this take effect
    // (https://sqlite.org/pragma.html#pragma_foreign_keys).
    try connection.execute("PRAGMA foreign_keys = OFF")
    try connection.transaction {
      if version < 5 {
        for statements in Self.older.dropFirst(Int(version) - 1) { try connection.execute(statements) }
        try bringUpFromFour()
      } else if version < 7 {
        try bringUpFromFive(hasTombstones: version > 5)
      } else {
        try bringUpFromSeven()
      }
      try connection.execute("PRAGMA user_version = \(Schema.version)")
    }
    // Where the transaction fails, the connection is of no more use.
    try connection.execute(Schema.checkReferences)
  }

  /// Makes all tables anew, and copies their rows. So no statement of an earlier version is left in the schema.
  private func replace(_ tables: [String], _ copy: () throws -> Void) throws {
    var indexes: [String] = []
    try connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").rows {
      indexes.append($0.text(0))
    }
    for index in indexes { try connection.execute("DROP INDEX \(index)") }
    for table in tables { try connection.execute("ALTER TABLE \(table) RENAME TO old_\(table)") }
    try connection.execute(Schema.tables)
    try copy()
    for table in tables.reversed() { try connection.execute("DROP TABLE old_\(table)") }
    try connection.execute(Schema.countsOfAll)
  }

  // MARK: From 7 on

  /// From 7 to 8: downloads. From 8 to 9: what servers say of their content. From 9 to 10: tokens. From 10 to
  /// 11: objects that are kept, traces. From 11 to 12: derived objects, contents taken out of others, the senders of transfers. From 12 to
  /// 13: the time that a tree took. From 13 to 14: transfers keep their place in the order of turns until they have ended. From 14 to 15: whose an attachment or a delivery is.
  /// Tables allow more in some columns and have more of them at their end, which needs no row to be written: their statements in the
  /// schema are replaced, as SQLite allows for that (https://sqlite.org/lang_altertable.html, section 7).
  private func bringUpFromSeven() throws {
    let model = try Connection(":memory:")
    try model.execute(Schema.tables)
    var statements: [(type: String, name: String, sql: String)] = []
    try model.prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").rows {
      statements.append(($0.text(0), $0.text(1), $0.text(2)))
    }
    // What has another form is made anew.
    try connection.execute(
      """
      DROP VIEW queue; DROP INDEX attachments_by_time; DROP INDEX IF EXISTS jobs_due_by_host;
      DROP INDEX IF EXISTS jobs_due_in_turn; DROP INDEX jobs_due;
      PRAGMA writable_schema = ON
      """)
    let replace = try connection.prepare(
      "UPDATE sqlite_schema SET sql = ?2 WHERE type = 'table' AND name = ?1")
    for (type, name, sql) in statements where type == "table" { try replace.run(.text(name), .text(sql)) }
    // From the next statement on SQLite reads the new ones, which indexes need that have new columns.
    let version = try connection.prepare("PRAGMA schema_version").first { $0.integer(0) } ?? 0
    try connection.execute("PRAGMA schema_version = \(version + 1); PRAGMA writable_schema = OFF")
    try connection.execute(
      """
      UPDATE jobs SET sender = coalesce(sender, 0), host = coalesce(host, 0),
        in_turn = CASE WHEN state = 'due' OR state = 'leased' THEN 1 END
      WHERE key >= \(Schema.transferJobs)
      """)
    for (_, name, sql) in statements {
      let isThere =
        try connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1").first(.text(name)) { _ in true }
        ?? false
      if !isThere { try connection.execute(sql) }
    }
  }

  // MARK: From 5 and 6

  /// From 5 to 6: attachments can be cancelled and deleted, deliveries dropped; a client's reference; filters have their indexes.
  /// From 6 to 7: the key of a job follows from what it is for.
  private func bringUpFromFive(hasTombstones: Bool) throws {
    try connection.execute("DROP VIEW steps")
    let tables =
      [
        "ledger", "coordinators", "counts", "changes", "lanes", "pauses", "messages", "fingerprints",
        "attachments", "names", "events", "deliveries", "jobs", "attempts",
      ] + (hasTombstones ? ["tombstones"] : [])
    try replace(tables) {
      for table in tables {
        var columns: [String] = []
        try connection.prepare("SELECT name FROM pragma_table_info('old_\(table)')").rows {
          columns.append($0.text(0))
        }
        var values = columns
        if table == "ledger" && !hasTombstones {
          columns.append("residue")
          values.append("0")
        }
        if table == "jobs" {
          columns.removeAll { $0 == "kind" || $0 == "subject" }
          values = columns.map { $0 == "key" ? "subject * 2 + (kind = 'delivery')" : $0 }
        }
        try connection.execute(
          "INSERT INTO \(table) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM old_\(table)"
        )
      }
    }
  }

  // MARK: From 4

  private func bringUpFromFour() throws {
    let tables = [
      "ledger", "counts", "lanes", "messages", "lines", "attachments", "events", "deliveries", "jobs",
      "attempts",
    ]
    try replace(tables) {
      try connection.execute(Self.copy)
      try copyAttachments()
      try connection.execute(Self.copyOfAttachments)
    }
  }

  /// What was leased is of a lost coordinator, and comes back when the next one joins. Pauses were the program's own: a start lifts
  /// them.
  private static let copy = """
    INSERT INTO ledger SELECT 1, 0, 0, 0, seen_at, 0, '', 0, NULL, NULL FROM old_ledger;
    INSERT INTO counts SELECT 0, status, attachments, bytes FROM old_counts;
    INSERT INTO messages SELECT * FROM old_messages;
    INSERT INTO fingerprints SELECT * FROM old_lines;
    INSERT INTO lanes (kind, name, host, sharing)
    SELECT DISTINCT CASE lane WHEN 'attachments' THEN 'attachments' ELSE 'channel' END,
      CASE lane WHEN 'attachments' THEN '' ELSE substr(lane, 9) END, '',
      CASE lane WHEN 'attachments' THEN 'shared' ELSE 'exclusive' END
    FROM (SELECT lane FROM old_jobs UNION SELECT 'attachments');
    INSERT INTO jobs (key, lane, priority, state, due_at, holder, token, attempts, uncounted, crashes, losses)
    SELECT coalesce(j.attachment_key * 2, j.delivery_key * 2 + 1), l.key, j.priority, j.state, j.due_at, j.boot, j.token,
      j.attempts, j.uncounted, j.crashes, j.suspicions
    FROM old_jobs j JOIN lanes l ON j.lane = CASE l.kind WHEN 'attachments' THEN 'attachments' ELSE 'channel:' || l.name END
    ORDER BY j.key;
    UPDATE ledger SET holder = coalesce((SELECT boot FROM old_ledger), 0);
    """

  private static let copyOfAttachments = """
    INSERT INTO names SELECT url, sha256, count(*) FROM attachments WHERE url IS NOT NULL GROUP BY url;
    INSERT INTO events SELECT * FROM old_events ORDER BY key;
    INSERT INTO deliveries SELECT * FROM old_deliveries ORDER BY key;
    INSERT INTO attempts
    SELECT attachment_key, number, json_group_array(json_array(stage, verdict, code, message, microseconds)), max(recorded_at)
    FROM (SELECT * FROM old_attempts ORDER BY attachment_key, number, step) GROUP BY attachment_key, number;
    """

  /// A page at a time, since each identity is computed here.
  private func copyAttachments() throws {
    let read = try connection.prepare(
      """
      SELECT key, source, source_size, source_modified, conversation_id,
        CASE own_message WHEN 1 THEN NULL ELSE message_id END
      FROM old_attachments WHERE key > ?1 ORDER BY key LIMIT 1000
      """)
    let write = try connection.prepare(
      """
      INSERT INTO attachments SELECT key, id, ?2, conversation_id, message_id, own_message, file_name, declared_type, NULL,
        'file', NULL, source, source_size, source_modified, source_folder_device, status, media_type, size_bytes, sha256, metadata, url,
        reason_stage, reason_code, reason_message, created_at, finished_at, line_key, NULL, NULL, NULL
      FROM old_attachments WHERE key = ?1
      """)
    let hash = try SHA256()
    var last: Int64 = .min
    while true {
      var page: [(key: Int64, identity: [UInt8])] = []
      try read.rows(.integer(last)) { row in
        let source = AttachmentSource.file(
          host: nil, path: row.blob(1), size: row.integer(2), modified: row.integer(3), folderDevice: nil)
        page.append(
          (
            row.integer(0),
            source.identity(conversationId: row.text(4), messageId: row.optionalText(5), hash)
          ))
      }
      guard let end = page.last else { return }
      for (key, identity) in page { try write.run(.integer(key), .blob(identity)) }
      last = end.key
    }
  }
}
