import LedgerPort
import Pipeline

/// The ledger's tables. CHECK constraints enforce the states and what must hold in each, so that no program
/// can write an inconsistent ledger. They compare a column with each value in turn: for three values in `IN
/// (…)`, SQLite would build a table on every check of a row.
enum Schema {
  /// The schema version that this program writes, kept in `user_version`. Ledgers of other
  /// versions are refused.
  static let version: Int64 = 20

  /// Has SQLite look for what each row refers to, in debug builds and so in the tests. In a release that would be a twentieth of
  /// the coordinator's work; what is referred to is written by the same transaction or read in it, and `verify` looks at all.
  #if DEBUG
    static let checkReferences = "PRAGMA foreign_keys = ON"
  #else
    static let checkReferences = "PRAGMA foreign_keys = OFF"
  #endif

  static let tables = """
    -- One row. `history` is another after the ledger went back in time (0: it did, and gets one when it is opened); `position` is
    -- the number of its last change; `holder` is the last coordinator that joined. What time it was at the last exchange, to tell
    -- a clock that was changed: `seen_at` by the clock, `seen_since_boot` since the start of the kernel run `kernel_run`.
    -- `residue` is 1 where the file may still hold the bytes of rows that a person deleted. `home_id` is random, and with the key
    -- gives those that seal values; NULL: nothing was sealed yet. `index_key` makes the blind indexes; it is sealed, and never
    -- changes.
    CREATE TABLE ledger (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      history INTEGER NOT NULL,
      position INTEGER NOT NULL CHECK (position >= 0),
      holder INTEGER NOT NULL CHECK (holder >= 0),
      seen_at INTEGER NOT NULL,
      seen_since_boot INTEGER NOT NULL,
      kernel_run TEXT NOT NULL,
      residue INTEGER NOT NULL CHECK (residue IN (0, 1)),
      home_id BLOB CHECK (length(home_id) = 16),
      index_key BLOB
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
        OR status = 'failed' OR status = 'quarantined' OR status = 'cancelled'),
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
      kind TEXT NOT NULL CHECK (kind = 'attachments' OR kind = 'channel' OR kind = 'downloads'),
      name TEXT NOT NULL CHECK ((kind = 'channel') = (name <> '')),
      host TEXT NOT NULL,               -- the only one that may claim; empty: any
      sharing TEXT NOT NULL CHECK (sharing = 'shared' OR sharing = 'exclusive'),
      UNIQUE (kind, name, host)
    ) STRICT;

    -- Why lanes stand still. A start lifts a `fault` that the program met, and never what a person did or what needs a `hand`.
    CREATE TABLE pauses (
      lane INTEGER NOT NULL REFERENCES lanes,
      cause TEXT NOT NULL CHECK (cause = 'person' OR cause = 'fault' OR cause = 'hand'),
      code TEXT NOT NULL,
      reason TEXT NOT NULL,
      paused_by TEXT NOT NULL,
      paused_at INTEGER NOT NULL,
      PRIMARY KEY (lane, cause)
    ) STRICT, WITHOUT ROWID;

    -- Messages. A message of a row in `conversations` has a `number`, and the members read it; the attachments of other messages belong
    -- to the participants. `client_id` is the id of the client. `changed` is the number of the exchange with the last change, as in
    -- the two tables below.
    CREATE TABLE messages (
      conversation_id TEXT NOT NULL CHECK (conversation_id <> ''),
      message_id TEXT NOT NULL CHECK (message_id <> ''),
      sender_id TEXT NOT NULL,
      participants TEXT NOT NULL CHECK (json_type(participants) = 'array'),
      text TEXT,
      created_at INTEGER NOT NULL,
      number INTEGER CHECK (number > 0),
      changed INTEGER,
      client_id TEXT,
      reply_to INTEGER,
      urgent INTEGER CHECK (urgent = 1),
      edited_at INTEGER,
      deleted_at INTEGER,
      expires_at INTEGER,               -- when the server deletes it
      of_user INTEGER CHECK (of_user = 1), -- begun by a user's own request; a service may take its id over
      PRIMARY KEY (conversation_id, message_id),
      CHECK ((number IS NULL) = (changed IS NULL)),
      CHECK (deleted_at IS NULL OR text IS NULL)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX messages_by_number ON messages (conversation_id, number) WHERE number IS NOT NULL;
    CREATE UNIQUE INDEX messages_by_client ON messages (sender_id, client_id) WHERE client_id IS NOT NULL;
    CREATE INDEX messages_by_expiry ON messages (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
    CREATE INDEX messages_by_change ON messages (conversation_id, changed) WHERE changed IS NOT NULL;

    \(conversationTables)

    \(userTables)

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
      reference TEXT,                   -- the client's own name for it, which returns in every event
      source_kind TEXT NOT NULL CHECK (source_kind = 'file' OR source_kind = 'link'),
      source_host TEXT,                 -- NULL: the one that has the ledger
      source BLOB NOT NULL,             -- a path's bytes, which need not be UTF-8; of a link what may be shown
      source_size INTEGER NOT NULL,
      source_modified INTEGER NOT NULL, -- nanoseconds since 1970
      -- The device of the source's folder at intake (`st_dev`, stat(3type)). If the file is missing and the folder's device has
      -- changed, the file system is not mounted.
      source_folder_device INTEGER,
      status TEXT NOT NULL CHECK (status = 'queued' OR status = 'completed' OR status = 'rejected'
        OR status = 'failed' OR status = 'quarantined' OR status = 'cancelled'),
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
      -- The path of the object of an earlier attempt. It is kept, and read, until another takes its place.
      kept TEXT,
      traceparent TEXT,                 -- of the request that brought it (https://www.w3.org/TR/trace-context)
      parent INTEGER REFERENCES attachments, -- what its content was taken out of
      CHECK ((status = 'queued') = (finished_at IS NULL)),
      CHECK ((status IN ('queued', 'completed')) = (reason_code IS NULL)),
      CHECK (url IS NULL OR (status <> 'queued' AND sha256 IS NOT NULL)),
      CHECK (kept IS NULL OR url IS NULL),
      FOREIGN KEY (conversation_id, message_id) REFERENCES messages
    ) STRICT;
    CREATE UNIQUE INDEX attachments_by_id ON attachments (id);
    CREATE UNIQUE INDEX attachments_by_identity ON attachments (identity);
    CREATE INDEX attachments_by_content ON attachments (sha256, created_at) WHERE sha256 IS NOT NULL;
    -- Those that match a filter are found by these, in order of intake; see `Selection.swift`.
    -- Names are looked through in the index: to read a million rows for them takes three times as long.
    CREATE INDEX attachments_by_time ON attachments (created_at, file_name);
    CREATE INDEX attachments_kept ON attachments (kept) WHERE kept IS NOT NULL;
    CREATE INDEX attachments_by_type ON attachments (media_type, created_at) WHERE media_type IS NOT NULL;
    CREATE INDEX attachments_by_message ON attachments (conversation_id, message_id);
    CREATE INDEX attachments_by_code ON attachments (reason_code, created_at) WHERE reason_code IS NOT NULL;
    CREATE INDEX attachments_by_parent ON attachments (parent) WHERE parent IS NOT NULL;
    CREATE INDEX attachments_not_completed ON attachments (created_at, status) WHERE status NOT IN ('queued', 'completed');

    \(searchTables)

    -- The paths of objects, with the content that is there: another content's attachment cannot have the path. `uses` counts the
    -- attachments whose object it is, or was and is kept; where that is 0, the object is to be deleted, and nothing else may have the path before.
    CREATE TABLE names (
      path TEXT PRIMARY KEY,
      sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
      uses INTEGER NOT NULL CHECK (uses >= 0)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX names_unused ON names (path) WHERE uses = 0;

    -- The objects that stages have left beside the objects of completed attachments. Their paths count in `names`.
    CREATE TABLE derived (
      attachment_key INTEGER NOT NULL REFERENCES attachments,
      name TEXT NOT NULL,
      stage TEXT NOT NULL,
      media_type TEXT NOT NULL,
      size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
      sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
      url TEXT NOT NULL,
      PRIMARY KEY (attachment_key, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX derived_by_content ON derived (sha256);

    -- Attachments that have children. The row of a tree's root counts the attachments at all levels, and their bytes. While one waits
    -- for its children, `open` of which have not ended, the row keeps the answers of its stages.
    CREATE TABLE expansions (
      attachment_key INTEGER PRIMARY KEY REFERENCES attachments,
      contents INTEGER NOT NULL CHECK (contents >= 0),
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      open INTEGER NOT NULL CHECK (open >= 0),
      waits INTEGER NOT NULL CHECK (waits IN (0, 1)),
      media_type TEXT,
      size_bytes INTEGER,
      sha256 BLOB,
      metadata TEXT NOT NULL DEFAULT '{}',
      said TEXT NOT NULL DEFAULT '[]',  -- as in `attempts`
      -- Of a tree's root: how long stages have worked on what came out of it.
      microseconds INTEGER NOT NULL DEFAULT 0 CHECK (microseconds >= 0),
      CHECK (waits = 1 OR open = 0)
    ) STRICT;

    -- What is left of attachments that a person deleted. `identity` is a hash of theirs, so that the same file under the same
    -- message is not taken in again.
    CREATE TABLE tombstones (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      identity BLOB NOT NULL CHECK (length(identity) = 16),
      deleted_by TEXT NOT NULL,
      deleted_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX tombstones_by_id ON tombstones (id);
    CREATE INDEX tombstones_by_identity ON tombstones (identity);

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
      status TEXT NOT NULL CHECK (status = 'pending' OR status = 'delivered' OR status = 'dead' OR status = 'dropped'),
      reason_code TEXT,
      reason_message TEXT,
      finished_at INTEGER,
      CHECK ((status = 'pending') = (finished_at IS NULL)),
      CHECK (status <> 'dead' OR reason_code IS NOT NULL)
    ) STRICT;
    CREATE UNIQUE INDEX deliveries_once ON deliveries (event_key, channel, recipient);
    -- How many there are is asked often.
    CREATE INDEX deliveries_dead ON deliveries (key) WHERE status = 'dead';

    -- Downloads: one for each method, link, body and credential, however many attachments wait for it. While it has a job it is to be fetched. Then
    -- `sha256` says what came, or `reason_code` why nothing did. `request` and `validators` are sealed, for this identity.
    CREATE TABLE transfers (
      key INTEGER PRIMARY KEY,
      identity BLOB NOT NULL UNIQUE CHECK (length(identity) = 32),
      host INTEGER NOT NULL,                          -- of a blind index of scheme, host and port
      request BLOB NOT NULL,
      bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0), -- synced; what lies beyond in the file does not count
      total INTEGER,
      validators BLOB,
      restarts INTEGER NOT NULL DEFAULT 0,            -- how often it was begun again at 0
      created_at INTEGER NOT NULL,
      finished_at INTEGER,
      size_bytes INTEGER CHECK (size_bytes >= 0),
      sha256 BLOB CHECK (length(sha256) = 32),
      is_rejected INTEGER NOT NULL DEFAULT 0 CHECK (is_rejected IN (0, 1)),
      reason_code TEXT,                               -- also of the last try
      reason_message TEXT,
      file_name TEXT,                                 -- what the server says of the content, once it is fetched
      content_type TEXT,
      sender INTEGER NOT NULL DEFAULT 0,              -- of a blind index of the user whose link it is; 0: it is no user's
      CHECK (total IS NULL OR bytes <= total),
      CHECK ((sha256 IS NULL) = (size_bytes IS NULL)),
      CHECK (sha256 IS NULL OR finished_at IS NOT NULL)
    ) STRICT;

    -- How many there are is asked often.
    CREATE INDEX transfers_failed ON transfers (key) WHERE reason_code IS NOT NULL AND finished_at IS NOT NULL;

    -- Which attachments are fetched by which transfer. One that is queued, and whose job is `waiting`, waits for it.
    CREATE TABLE links (
      attachment_key INTEGER PRIMARY KEY REFERENCES attachments,
      transfer_key INTEGER NOT NULL REFERENCES transfers
    ) STRICT;
    CREATE INDEX links_by_transfer ON links (transfer_key);

    -- The queue. A job is due, scheduled, leased, `waiting` for a transfer, or `expanded`: waiting for children. The row is deleted when
    -- the work has ended. `subject` is the key of the attachment, the delivery or the transfer.
    CREATE TABLE jobs (
      kind TEXT NOT NULL CHECK (kind = 'attachment' OR kind = 'delivery' OR kind = 'transfer'),
      subject INTEGER NOT NULL,
      lane INTEGER NOT NULL REFERENCES lanes,
      priority INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state = 'due' OR state = 'scheduled' OR state = 'leased' OR state = 'waiting' OR state = 'expanded'),
      due_at INTEGER NOT NULL,
      holder INTEGER,                         -- the coordinator that has it, and
      token INTEGER,                          -- the number of the exchange in which it got it
      attempts INTEGER NOT NULL DEFAULT 0,    -- begun, the one under way included
      uncounted INTEGER NOT NULL DEFAULT 0,   -- of these, ended by nothing that the job is to blame for
      crashes INTEGER NOT NULL DEFAULT 0,     -- workers it took down or held up
      losses INTEGER NOT NULL DEFAULT 0,      -- coordinators that were lost with it in hand
      cancelled TEXT,                         -- why its result is not wanted any more; NULL: it is
      turn INTEGER NOT NULL DEFAULT 0,        -- of an attachment or a delivery: whose it is, a hash of the sender; 0: no user's
      CHECK ((state = 'leased') = (holder IS NOT NULL)),
      CHECK ((holder IS NULL) = (token IS NULL)),
      PRIMARY KEY (kind, subject)
    ) STRICT, WITHOUT ROWID;
    -- Each index has kind and subject at its end.
    CREATE INDEX jobs_due ON jobs (lane, priority DESC, turn, subject) WHERE state = 'due';
    CREATE INDEX jobs_scheduled ON jobs (lane, due_at) WHERE state = 'scheduled';
    CREATE INDEX jobs_lost ON jobs (lane) WHERE losses >= 3;
    CREATE INDEX jobs_held ON jobs (state, kind, subject) WHERE state = 'leased' OR state = 'waiting' OR state = 'expanded';

    -- The order of transfers: users take turns, and the hosts of each user. The table holds due and running transfers. A transfer leaves
    -- at its end, and not at its claim: each host has its own page of the index, and a claim would write a page for each link.
    CREATE TABLE turns (
      transfer_key INTEGER PRIMARY KEY REFERENCES transfers,
      sender INTEGER NOT NULL,          -- as in `transfers`, like `host`
      host INTEGER NOT NULL,
      priority INTEGER NOT NULL         -- as in `jobs`
    ) STRICT;
    CREATE INDEX turns_in_order ON turns (sender, priority DESC, host);

    -- What lets clients in over HTTP. `id` is the beginning of `hash`, the SHA-256 of the token, which is not kept.
    CREATE TABLE tokens (
      id TEXT PRIMARY KEY,
      hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
      name TEXT NOT NULL CHECK (name <> ''),
      role TEXT NOT NULL CHECK (role = 'user' OR role = 'service' OR role = 'admin'),
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER,
      device TEXT                       -- of a session; NULL: made by an operator
    ) STRICT;
    CREATE INDEX tokens_by_user ON tokens (name) WHERE device IS NOT NULL;

    -- Files that clients send piece by piece: what is there of one says its file, which has this id as its name. One that has become
    -- an attachment stays until that has its object, or is deleted.
    CREATE TABLE uploads (
      id TEXT PRIMARY KEY,
      owner TEXT NOT NULL,              -- the name of the token with which it was begun
      role TEXT NOT NULL CHECK (role = 'user' OR role = 'service' OR role = 'admin'),
      length INTEGER CHECK (length >= 0), -- NULL: it is said later
      metadata TEXT NOT NULL,           -- as the client sent it
      concat TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      attachment_id TEXT,
      conversation_id TEXT,             -- of the message that named it
      message_id TEXT,
      for_user TEXT,                    -- for whom a service began it
      CHECK ((conversation_id IS NULL) = (message_id IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX uploads_by_user ON uploads (for_user) WHERE for_user IS NOT NULL AND attachment_id IS NULL;
    CREATE INDEX uploads_by_message ON uploads (conversation_id, message_id)
      WHERE message_id IS NOT NULL AND attachment_id IS NULL;
    CREATE INDEX uploads_by_owner ON uploads (owner) WHERE attachment_id IS NULL;
    CREATE INDEX uploads_by_attachment ON uploads (attachment_id) WHERE attachment_id IS NOT NULL;

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

  /// The rows of a new ledger.
  static let firstRows = """
    INSERT INTO ledger VALUES (1, 0, 0, 0, 0, 0, '', 0, NULL, NULL);
    INSERT INTO lanes (kind, name, host, sharing) VALUES ('attachments', '', '', 'shared');
    \(countsOfAll);
    """

  /// A row of `counts` for each status that has none.
  static let countsOfAll = """
    INSERT INTO counts SELECT 0, value, 0, 0
    FROM json_each('[\(Status.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]') WHERE true ON CONFLICT DO NOTHING
    """
}
