extension OldLedger {
  /// The tables of version 5, as they were.
  static let fifth = """
    -- One row. `history` is another after the ledger went back in time (0: it did, and gets one when it is opened); `position` is
    -- the number of its last change; `holder` is the last coordinator that joined. What time it was at the last exchange, to tell
    -- a clock that was changed: `seen_at` by the clock, `seen_since_boot` since the start of the kernel run `kernel_run`.
    CREATE TABLE ledger (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      history INTEGER NOT NULL,
      position INTEGER NOT NULL CHECK (position >= 0),
      holder INTEGER NOT NULL CHECK (holder >= 0),
      seen_at INTEGER NOT NULL,
      seen_since_boot INTEGER NOT NULL,
      kernel_run TEXT NOT NULL
    ) STRICT;

    -- Who may write. `number` is that of the coordinator's last exchange, so that the fate of one can be told.
    CREATE TABLE coordinators (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,               -- host and process, for people
      number INTEGER NOT NULL CHECK (number >= 0),
      joined_at INTEGER NOT NULL
    ) STRICT;

    -- How many attachments have each status, and their bytes; kept in step by every transaction. Their sum over the shards counts,
    -- so that several writers need not wait for each other.
    CREATE TABLE counts (
      shard INTEGER NOT NULL,
      status TEXT NOT NULL CHECK (status = 'queued' OR status = 'completed' OR status = 'rejected'
        OR status = 'failed' OR status = 'quarantined'),
      attachments INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (shard, status)
    ) STRICT, WITHOUT ROWID;

    -- What visibly changed: one row for each exchange, with the keys as a JSON object by kind.
    CREATE TABLE changes (
      number INTEGER PRIMARY KEY,
      subjects TEXT NOT NULL,
      recorded_at INTEGER NOT NULL
    ) STRICT;

    -- Named queues. Of a `shared` one several coordinators may claim, of an `exclusive` one a single one at a time.
    CREATE TABLE lanes (
      key INTEGER PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind = 'attachments' OR kind = 'channel'),
      name TEXT NOT NULL CHECK ((kind = 'channel') = (name <> '')),
      host TEXT NOT NULL,               -- the only one that may claim; empty: any
      sharing TEXT NOT NULL CHECK (sharing = 'shared' OR sharing = 'exclusive'),
      UNIQUE (kind, name, host)
    ) STRICT;

    -- Why lanes stand still. A start lifts what the program paused, and never what a person did.
    CREATE TABLE pauses (
      lane INTEGER NOT NULL REFERENCES lanes,
      cause TEXT NOT NULL CHECK (cause = 'person' OR cause = 'fault'),
      code TEXT NOT NULL,
      reason TEXT NOT NULL,
      paused_by TEXT NOT NULL,
      paused_at INTEGER NOT NULL,
      PRIMARY KEY (lane, cause)
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

    -- The stages, with their bases, that contents passed first. Their results are reused for equal content.
    CREATE TABLE fingerprints (
      key INTEGER PRIMARY KEY,
      fingerprint TEXT NOT NULL UNIQUE
    ) STRICT;

    CREATE TABLE attachments (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      -- What makes it this one: the same file under the same message is the same attachment.
      identity BLOB NOT NULL CHECK (length(identity) = 32),
      conversation_id TEXT NOT NULL,
      message_id TEXT NOT NULL,
      own_message INTEGER NOT NULL CHECK (own_message IN (0, 1)), -- 1: the message was made for this file
      file_name TEXT NOT NULL,
      declared_type TEXT,
      source_kind TEXT NOT NULL CHECK (source_kind = 'file'),
      source_host TEXT,                 -- NULL: the one that has the ledger
      source BLOB NOT NULL,             -- a path's bytes, which need not be UTF-8
      source_size INTEGER NOT NULL,
      source_modified INTEGER NOT NULL, -- nanoseconds since 1970
      -- The device of the source's folder at intake (`st_dev`, stat(3type)). If the file is missing and the folder's device has
      -- changed, the file system is not mounted.
      source_folder_device INTEGER,
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
      fingerprint_key INTEGER REFERENCES fingerprints,
      CHECK ((status = 'queued') = (finished_at IS NULL)),
      CHECK ((status IN ('queued', 'completed')) = (reason_code IS NULL)),
      CHECK (url IS NULL OR (status <> 'queued' AND sha256 IS NOT NULL)),
      FOREIGN KEY (conversation_id, message_id) REFERENCES messages
    ) STRICT;
    CREATE UNIQUE INDEX attachments_by_id ON attachments (id);
    CREATE UNIQUE INDEX attachments_by_identity ON attachments (identity);
    CREATE INDEX attachments_by_content ON attachments (sha256) WHERE url IS NOT NULL;
    CREATE INDEX attachments_not_completed ON attachments (status, key) WHERE status NOT IN ('queued', 'completed');

    -- The paths of objects, with the content that is there: another content's attachment cannot have the path. `uses` counts the
    -- attachments whose object it is.
    CREATE TABLE names (
      path TEXT PRIMARY KEY,
      sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
      uses INTEGER NOT NULL CHECK (uses > 0)
    ) STRICT, WITHOUT ROWID;

    -- One event of an attachment; what it says to each recipient is in `deliveries`.
    CREATE TABLE events (
      key INTEGER PRIMARY KEY,
      attachment_key INTEGER NOT NULL REFERENCES attachments,
      type TEXT NOT NULL,
      data TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX events_by_attachment ON events (attachment_key);

    -- The outbox. `id` is the event's id for this recipient. It follows from attachment, event and recipient, so that the same
    -- event has the same id after the ledger was restored from a backup, too.
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
    -- How many there are is asked often.
    CREATE INDEX deliveries_dead ON deliveries (key) WHERE status = 'dead';

    -- The queue: what is due, waits for later, or is leased. A job's row goes when its work has ended.
    CREATE TABLE jobs (
      key INTEGER PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind = 'attachment' OR kind = 'delivery'),
      subject INTEGER NOT NULL,               -- the key of the attachment or delivery
      lane INTEGER NOT NULL REFERENCES lanes,
      priority INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state = 'due' OR state = 'scheduled' OR state = 'leased'),
      due_at INTEGER NOT NULL,
      holder INTEGER,                         -- the coordinator that has it, and
      token INTEGER,                          -- the number of the exchange in which it got it
      attempts INTEGER NOT NULL DEFAULT 0,    -- begun, the one under way included
      uncounted INTEGER NOT NULL DEFAULT 0,   -- of these, ended by nothing that the job is to blame for
      crashes INTEGER NOT NULL DEFAULT 0,     -- workers it took down or held up
      losses INTEGER NOT NULL DEFAULT 0,      -- coordinators that were lost with it in hand
      CHECK ((state = 'leased') = (holder IS NOT NULL)),
      CHECK ((holder IS NULL) = (token IS NULL))
    ) STRICT;
    CREATE INDEX jobs_due ON jobs (lane, priority DESC, key) WHERE state = 'due';
    CREATE INDEX jobs_scheduled ON jobs (lane, due_at) WHERE state = 'scheduled';
    CREATE INDEX jobs_leased ON jobs (key) WHERE state = 'leased';
    CREATE INDEX jobs_lost ON jobs (lane) WHERE losses >= 3;
    CREATE UNIQUE INDEX jobs_by_subject ON jobs (kind, subject);

    -- Every attempt, with what each of its stages said: a JSON array of arrays of stage, verdict, code, message, microseconds.
    CREATE TABLE attempts (
      attachment_key INTEGER NOT NULL REFERENCES attachments,
      number INTEGER NOT NULL,
      said TEXT NOT NULL,
      recorded_at INTEGER NOT NULL,
      PRIMARY KEY (attachment_key, number)
    ) STRICT, WITHOUT ROWID;

    -- The same, one row for each stage.
    CREATE VIEW steps AS
    SELECT attachment_key, number, s.key AS step, s.value ->> 0 AS stage, s.value ->> 1 AS verdict, s.value ->> 2 AS code,
      s.value ->> 3 AS message, s.value ->> 4 AS microseconds, recorded_at
    FROM attempts a, json_each(a.said) s;
    """

  static func id(_ number: Int) -> String { "0192f0e4-7c3a-7001-8a00-00000000000\(number)" }

  /// Rows of every kind, in each table.
  static let rowsOfFive = """
    INSERT INTO ledger VALUES (1, 77, 12, 5, 1699999999000, 100, 'a run of the kernel');
    INSERT INTO coordinators VALUES (5, 'host, process 7', 40, 1699999990000);
    INSERT INTO counts VALUES (0, 'queued', 3, 0), (0, 'completed', 1, 5), (0, 'rejected', 1, 7), (0, 'failed', 1, 0),
      (0, 'quarantined', 1, 8);
    INSERT INTO changes VALUES (11, '{"attachment":[1,2]}', 1699999990001), (12, '{"lane":[1]}', 1699999990002);
    INSERT INTO lanes VALUES (1, 'attachments', '', '', 'shared'), (2, 'channel', 'events', '', 'exclusive');
    INSERT INTO pauses VALUES (1, 'fault', 'disk-full', 'no room', 'sluice', 3), (2, 'person', 'asked', 'why', 'ann', 4);
    INSERT INTO messages VALUES ('c', 'm', 'ann', '["ann","ben"]', 'a text', 1), ('d', 'own', 'ben', '[]', NULL, 2);
    INSERT INTO fingerprints VALUES (1, 'mime 1'), (2, 'mime 2');
    INSERT INTO attachments (key, id, identity, conversation_id, message_id, own_message, file_name, declared_type, source_kind,
      source_host, source, source_size, source_modified, source_folder_device, status, media_type, size_bytes, sha256, metadata,
      url, reason_stage, reason_code, reason_message, created_at, finished_at, fingerprint_key)
    SELECT number, '0192f0e4-7c3a-7001-8a00-00000000000' || number, CAST(printf('%032d', number) AS BLOB),
      CASE number WHEN 7 THEN 'd' ELSE 'c' END, CASE number WHEN 7 THEN 'own' ELSE 'm' END, number = 7, name,
      CASE number % 2 WHEN 1 THEN 'text/plain' END, 'file', NULL, CAST('/in/' || name AS BLOB), number, number * 1000,
      CASE number % 3 WHEN 1 THEN 64 END, status, type, size, sha256, metadata, url, stage, code, message, 1699999000000 + number,
      finished, fingerprint
    FROM (
      SELECT column1 AS number, column2 AS name, column3 AS status, column4 AS type, column5 AS size, column6 AS sha256,
        column7 AS metadata, column8 AS url, column9 AS stage, column10 AS code, column11 AS message, column12 AS finished,
        column13 AS fingerprint
      FROM (VALUES
        (1, 'due', 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL),
        (2, 'scheduled', 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL),
        (3, 'leased', 'queued', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL),
        (4, 'completed', 'completed', 'a/b', 5, zeroblob(32), '{"k":1}', 'documents/completed', NULL, NULL, NULL, 10, 1),
        (5, 'rejected', 'rejected', 'a/c', 7, CAST(printf('%032d', 5) AS BLOB), '{}', NULL, 'pdf', 'too-long', 'it is', 11, NULL),
        (6, 'failed', 'failed', NULL, NULL, NULL, '{}', NULL, 'source', 'missing', 'it is gone', 12, NULL),
        (7, 'quarantined', 'quarantined', NULL, 8, CAST(printf('%032d', 7) AS BLOB), '{}', NULL, 'scan', 'infected', 'so', 13, 2)));
    INSERT INTO names VALUES ('documents/completed', zeroblob(32), 1);
    INSERT INTO events VALUES (1, 4, 'attachment.completed', '{"a":1}', 10), (2, 5, 'attachment.rejected', '{}', 11);
    INSERT INTO deliveries VALUES
      (1, '0192f0e4-7c3a-8001-8a00-000000000001', 1, 'events', 'ann', 'pending', 'unreachable', 'not yet', NULL),
      (2, '0192f0e4-7c3a-8001-8a00-000000000002', 1, 'events', 'ben', 'delivered', NULL, NULL, 20),
      (3, '0192f0e4-7c3a-8001-8a00-000000000003', 2, 'events', 'ann', 'dead', 'gone', '410 Gone', 21);
    INSERT INTO jobs VALUES
      (1, 'attachment', 1, 1, 0, 'due', 5, NULL, NULL, 0, 0, 0, 0),
      (2, 'attachment', 2, 1, 2, 'scheduled', 1800000000000, NULL, NULL, 2, 1, 1, 0),
      (3, 'attachment', 3, 1, 1, 'leased', 7, 5, 40, 3, 1, 0, 2),
      (4, 'delivery', 1, 2, -1, 'scheduled', 1700000000000, NULL, NULL, 1, 0, 0, 0);
    INSERT INTO attempts VALUES
      (4, 1, '[["mime","pass",null,null,12],["pdf","retry","busy","not now",34]]', 9),
      (4, 2, '[["mime","pass",null,null,11]]', 10), (5, 1, '[["pdf","reject","too-long","it is",5]]', 11)
    """
}
