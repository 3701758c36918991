extension Schema {
  /// The tables of the search.
  static let searchTables = """
    -- Texts of attachments of conversations, by the derived object with the text.
    CREATE TABLE texts (
      sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
      text TEXT NOT NULL
    ) STRICT;

    -- The searchable parts of messages, without the characters that mark matches.
    CREATE VIEW findable (conversation, number, conversation_id, message_id, text, names, contents) AS
    SELECT c.key, m.number, m.conversation_id, m.message_id, replace(replace(coalesce(m.text, ''), char(1), ' '), char(2), ' '),
      coalesce((SELECT replace(replace(substr(group_concat(n.file_name, char(10)), 1, 65536), char(1), ' '), char(2), ' ')
        FROM (SELECT a.file_name FROM attachments a WHERE a.conversation_id = m.conversation_id AND a.message_id = m.message_id
          ORDER BY a.key LIMIT 1000) n), ''),
      coalesce((SELECT replace(replace(substr(group_concat(n.text, char(10)), 1, 65536), char(1), ' '), char(2), ' ')
        FROM (SELECT t.text FROM attachments a JOIN derived d ON d.attachment_key = a.key JOIN texts t ON t.sha256 = d.sha256
          WHERE a.conversation_id = m.conversation_id AND a.message_id = m.message_id AND a.status = 'completed'
          ORDER BY a.key, d.name LIMIT 1000) n), '')
    FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE m.number IS NOT NULL AND m.deleted_at IS NULL;

    -- The same on record: one row for a message with a text or an attachment. `key` rises as messages are written.
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
