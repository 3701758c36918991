extension Schema {
  /// The tables of conversations, beside `messages`.
  static let conversationTables = """
    -- Earlier texts of edited messages.
    CREATE TABLE versions (
      conversation_id TEXT NOT NULL,
      message_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      text TEXT NOT NULL,
      recorded_at INTEGER NOT NULL,     -- when another took its place
      PRIMARY KEY (conversation_id, message_id, version),
      FOREIGN KEY (conversation_id, message_id) REFERENCES messages
    ) STRICT, WITHOUT ROWID;

    -- Conversations. `pair` names the two members of a direct conversation.
    CREATE TABLE conversations (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE CHECK (id <> ''),
      kind TEXT NOT NULL CHECK (kind = 'direct' OR kind = 'group'),
      name TEXT,
      history TEXT NOT NULL CHECK (history = 'all' OR history = 'joined'),
      pair TEXT UNIQUE,
      expire_after INTEGER CHECK (expire_after > 0), -- how long new messages stay, in milliseconds
      last_number INTEGER NOT NULL CHECK (last_number >= 0),
      created_at INTEGER NOT NULL,
      described INTEGER NOT NULL,       -- as `changed`, of its name alone
      changed INTEGER NOT NULL,
      CHECK ((kind = 'direct') = (pair IS NOT NULL))
    ) STRICT;

    -- Members and former members. A member sees the messages from `first_number` on. A former member sees them up to `left_number`, as
    -- of the time `left_at` and the change `left_change`. Messages up to `joined_number` never count as unread.
    CREATE TABLE members (
      conversation INTEGER NOT NULL REFERENCES conversations,
      user TEXT NOT NULL CHECK (user <> ''),
      role TEXT NOT NULL CHECK (role = 'admin' OR role = 'member'),
      first_number INTEGER NOT NULL,
      joined_number INTEGER NOT NULL,
      joined_change INTEGER NOT NULL,
      left_number INTEGER,
      left_change INTEGER,
      left_at INTEGER,
      delivered_number INTEGER NOT NULL,
      read_number INTEGER NOT NULL,
      muted_until INTEGER,
      urgent_breaks_mute INTEGER NOT NULL CHECK (urgent_breaks_mute IN (0, 1)),
      changed INTEGER NOT NULL,
      configured INTEGER NOT NULL,      -- as `changed`, of the two columns about muting
      PRIMARY KEY (conversation, user),
      CHECK (read_number <= delivered_number),
      CHECK ((left_number IS NULL) = (left_at IS NULL) AND (left_number IS NULL) = (left_change IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX members_by_user ON members (user);
    """
}
