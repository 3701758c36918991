import SQLite

/// Ledgers as older programs made them.
enum OldLedger {
  /// The statements that made each version out of the one before, as they were.
  private static let versions = [first, second, third, fourth]

  /// Makes one of a version at a path, in the mode that programs left it in.
  static func make(_ path: String, version: Int, rows: String = "") throws -> Connection {
    let connection = try Connection(path)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON")
    // The fifth was not made out of the one before by statements.
    if version == 5 {
      try connection.execute(fifth)
    } else {
      for statements in versions.prefix(version) { try connection.execute(statements) }
    }
    try connection.execute("\(rows); PRAGMA user_version = \(version)")
    return connection
  }

  private static let first = """
    -- One row. `boot` counts the coordinators that opened the ledger; `token` is the last fencing token given; `frontier`
    -- is the last job of an attachment that this boot ended; `stalls` counts the boots in a row that ended none;
    -- `machine` names the run of the kernel that this boot was in.
    CREATE TABLE ledger (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      boot INTEGER NOT NULL,
      token INTEGER NOT NULL,
      frontier INTEGER NOT NULL,
      machine TEXT NOT NULL,
      stalls INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ledger VALUES (1, 0, 0, 0, '', 0);

    -- How many attachments have each status, and their bytes; kept in step by every transaction.
    CREATE TABLE counts (
      status TEXT PRIMARY KEY CHECK (status = 'queued' OR status = 'completed' OR status = 'rejected'
        OR status = 'failed' OR status = 'quarantined'),
      attachments INTEGER NOT NULL CHECK (attachments >= 0),
      bytes INTEGER NOT NULL CHECK (bytes >= 0)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO counts SELECT value, 0, 0 FROM json_each('["queued","completed","rejected","failed","quarantined"]');

    -- A named queue with its own pause switch.
    CREATE TABLE lanes (
      name TEXT PRIMARY KEY,
      paused_code TEXT,
      paused_reason TEXT,
      paused_at INTEGER,
      CHECK ((paused_at IS NULL) = (paused_reason IS NULL))
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE messages (
      conversation_id TEXT NOT NULL CHECK (conversation_id <> ''),
      message_id TEXT NOT NULL CHECK (message_id <> ''),
      sender_id TEXT NOT NULL,
      participants TEXT NOT NULL CHECK (json_type(participants) = 'array'),
      text TEXT,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (conversation_id, message_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE attachments (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      conversation_id TEXT NOT NULL,
      message_id TEXT NOT NULL,
      own_message INTEGER NOT NULL CHECK (own_message IN (0, 1)), -- 1: the message was made for this file
      file_name TEXT NOT NULL,
      declared_type TEXT,
      source BLOB NOT NULL,             -- a path's bytes, which need not be UTF-8
      source_size INTEGER NOT NULL,
      source_modified INTEGER NOT NULL, -- nanoseconds since 1970
      status TEXT NOT NULL CHECK (status = 'queued' OR status = 'completed' OR status = 'rejected'
        OR status = 'failed' OR status = 'quarantined'),
      media_type TEXT,
      size_bytes INTEGER CHECK (size_bytes >= 0),
      sha256 BLOB CHECK (length(sha256) = 32),
      metadata TEXT NOT NULL DEFAULT '{}',
      url TEXT,
      reason_stage TEXT,
      reason_code TEXT,
      reason_message TEXT,
      created_at INTEGER NOT NULL,      -- milliseconds since 1970, as all times but source_modified
      finished_at INTEGER,
      CHECK ((status = 'queued') = (finished_at IS NULL)),
      CHECK ((status IN ('queued', 'completed')) = (reason_code IS NULL)),
      CHECK (url IS NULL OR (status <> 'queued' AND sha256 IS NOT NULL)),
      FOREIGN KEY (conversation_id, message_id) REFERENCES messages
    ) STRICT;
    CREATE UNIQUE INDEX attachments_by_id ON attachments (id);
    -- The same file under the same message is the same attachment.
    CREATE UNIQUE INDEX attachments_by_source ON attachments
      (source, source_size, source_modified, conversation_id, CASE own_message WHEN 1 THEN '' ELSE message_id END);
    CREATE INDEX attachments_by_content ON attachments (sha256) WHERE url IS NOT NULL;
    CREATE INDEX attachments_not_completed ON attachments (status, key) WHERE status NOT IN ('queued', 'completed');

    -- One event of an attachment; what it says to each recipient is in `deliveries`.
    CREATE TABLE events (
      key INTEGER PRIMARY KEY,
      attachment_key INTEGER NOT NULL REFERENCES attachments,
      type TEXT NOT NULL,
      data TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX events_by_attachment ON events (attachment_key);

    -- The outbox. `id` is the event's id for this recipient; it never changes.
    CREATE TABLE deliveries (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      event_key INTEGER NOT NULL REFERENCES events,
      channel TEXT NOT NULL,
      recipient TEXT NOT NULL,
      status TEXT NOT NULL CHECK (status = 'pending' OR status = 'delivered' OR status = 'dead'),
      reason_code TEXT,
      reason_message TEXT,
      finished_at INTEGER,
      CHECK ((status = 'pending') = (finished_at IS NULL)),
      CHECK (status <> 'dead' OR reason_code IS NOT NULL)
    ) STRICT;
    CREATE UNIQUE INDEX deliveries_once ON deliveries (event_key, channel, recipient);

    -- The queue: what is due, or leased. A job's row goes when its work has ended.
    CREATE TABLE jobs (
      key INTEGER PRIMARY KEY,
      lane TEXT NOT NULL,
      priority INTEGER NOT NULL,
      attachment_key INTEGER REFERENCES attachments,
      delivery_key INTEGER REFERENCES deliveries,
      state TEXT NOT NULL CHECK (state = 'due' OR state = 'scheduled' OR state = 'leased'),
      due_at INTEGER NOT NULL,
      token INTEGER,
      boot INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,    -- begun, the one under way included
      uncounted INTEGER NOT NULL DEFAULT 0,   -- of these, ended by nothing that the job is to blame for
      crashes INTEGER NOT NULL DEFAULT 0,     -- workers it took down or held up
      suspicions INTEGER NOT NULL DEFAULT 0,  -- coordinators that ended while it was in hand and later ones had been ended
      CHECK ((attachment_key IS NULL) <> (delivery_key IS NULL)),
      CHECK ((state = 'leased') = (token IS NOT NULL)),
      CHECK ((token IS NULL) = (boot IS NULL))
    ) STRICT;
    CREATE INDEX jobs_due ON jobs (lane, priority DESC, key) WHERE state = 'due';
    CREATE INDEX jobs_scheduled ON jobs (due_at) WHERE state = 'scheduled';
    CREATE INDEX jobs_leased ON jobs (key) WHERE state = 'leased';
    CREATE UNIQUE INDEX jobs_by_attachment ON jobs (attachment_key) WHERE attachment_key IS NOT NULL;
    CREATE UNIQUE INDEX jobs_by_delivery ON jobs (delivery_key) WHERE delivery_key IS NOT NULL;

    -- Every try of every stage.
    CREATE TABLE attempts (
      attachment_key INTEGER NOT NULL REFERENCES attachments,
      number INTEGER NOT NULL,
      step INTEGER NOT NULL,
      stage TEXT NOT NULL,
      verdict TEXT NOT NULL,
      code TEXT,
      message TEXT,
      microseconds INTEGER NOT NULL,
      recorded_at INTEGER NOT NULL,
      PRIMARY KEY (attachment_key, number, step)
    ) STRICT, WITHOUT ROWID;
    """

  private static let second = "ALTER TABLE ledger ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0"

  private static let third = """
    CREATE TABLE lines (
      key INTEGER PRIMARY KEY,
      fingerprint TEXT NOT NULL UNIQUE
    ) STRICT;
    ALTER TABLE attachments ADD COLUMN line_key INTEGER REFERENCES lines;
    -- How many there are is asked often.
    CREATE INDEX deliveries_dead ON deliveries (key) WHERE status = 'dead';
    """

  private static let fourth = """
    ALTER TABLE attachments ADD COLUMN source_folder_device INTEGER;
    DROP INDEX jobs_scheduled;
    CREATE INDEX jobs_scheduled ON jobs (lane, due_at) WHERE state = 'scheduled';
    """
}
