extension Schema {
  /// The tables of the search.
  static let searchTables = """
    -- Texts of attachments of conversations, by the derived object with the text.
    CREATE TABLE texts (
      sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
      text TEXT NOT NULL
    ) STRICT;

    -- The searchable parts of messages: a row for a message with a text or an attachment. `key` rises as messages are written. The
    -- characters that mark matches are missing.
    CREATE TABLE documents (
      key INTEGER PRIMARY KEY,
      conversation INTEGER NOT NULL REFERENCES conversations,
      number INTEGER NOT NULL,
      text TEXT NOT NULL,
      names TEXT NOT NULL,              -- of attachments
      contents TEXT NOT NULL,           -- texts that stages found in attachments
      room TEXT NOT NULL GENERATED ALWAYS AS ('c' || conversation) VIRTUAL,
      UNIQUE (conversation, number)
    ) STRICT;

    -- Their words.
    CREATE VIRTUAL TABLE words USING fts5(room, text, names, contents, content='documents', content_rowid='key', prefix='1 2',
      tokenize='words');
    CREATE TRIGGER words_added AFTER INSERT ON documents BEGIN
      INSERT INTO words (rowid, room, text, names, contents) VALUES (new.key, new.room, new.text, new.names, new.contents);
    END;
    CREATE TRIGGER words_removed AFTER DELETE ON documents BEGIN
      INSERT INTO words (words, rowid, room, text, names, contents)
      VALUES ('delete', old.key, old.room, old.text, old.names, old.contents);
    END;
    CREATE TRIGGER words_changed AFTER UPDATE ON documents BEGIN
      INSERT INTO words (words, rowid, room, text, names, contents)
      VALUES ('delete', old.key, old.room, old.text, old.names, old.contents);
      INSERT INTO words (rowid, room, text, names, contents) VALUES (new.key, new.room, new.text, new.names, new.contents);
    END;
    """
}
