extension Schema {
  /// The tables of users, beside `tokens`.
  static let userTables = """
    -- People whose name is on record, and their accounts. `email_key` is the address in small letters, `password` a salted hash.
    -- `erasing` is how far the erasure of a person is; NULL: it has not begun, or is whole.
    CREATE TABLE users (
      key INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE CHECK (id <> ''),
      name TEXT NOT NULL,
      email TEXT,
      email_key TEXT UNIQUE,
      password TEXT,
      role TEXT NOT NULL CHECK (role = 'user' OR role = 'admin'),
      created_at INTEGER NOT NULL,
      disabled_at INTEGER,
      erased_at INTEGER,
      erasing TEXT,
      CHECK ((name = '') = (erased_at IS NOT NULL)),
      CHECK (erased_at IS NULL OR email IS NULL AND disabled_at IS NOT NULL),
      CHECK (erasing IS NULL OR erased_at IS NOT NULL),
      CHECK ((email IS NULL) = (password IS NULL) AND (email IS NULL) = (email_key IS NULL))
    ) STRICT;

    -- The words of their names.
    CREATE VIRTUAL TABLE user_names USING fts5(name, content='users', content_rowid='key', prefix='1 2',
      tokenize='unicode61 remove_diacritics 2');
    CREATE TRIGGER user_names_added AFTER INSERT ON users BEGIN
      INSERT INTO user_names (rowid, name) VALUES (new.key, new.name);
    END;
    CREATE TRIGGER user_names_removed AFTER DELETE ON users BEGIN
      INSERT INTO user_names (user_names, rowid, name) VALUES ('delete', old.key, old.name);
    END;
    CREATE TRIGGER user_names_changed AFTER UPDATE OF name ON users WHEN old.name IS NOT new.name BEGIN
      INSERT INTO user_names (user_names, rowid, name) VALUES ('delete', old.key, old.name);
      INSERT INTO user_names (rowid, name) VALUES (new.key, new.name);
    END;
    """
}
