import SQLite

/// A set of paths on disk, of any size. SQLite keeps a database without a name in a temporary file and
/// deletes it on close (https://sqlite.org/inmemorydb.html#temp_db).
final class PathSet {
  private let connection: Connection
  private let add: Statement
  private let find: Statement

  init() throws(SQLiteError) {
    connection = try Connection("")
    try connection.execute(
      """
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;
      CREATE TABLE paths (path TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN;
      """)
    add = try connection.prepare("INSERT OR IGNORE INTO paths VALUES (?1)")
    find = try connection.prepare("SELECT 1 FROM paths WHERE path = ?1")
  }

  func insert(_ path: String) throws(SQLiteError) { try add.run(.text(path)) }

  func contains(_ path: String) throws(SQLiteError) -> Bool {
    try find.first(.text(path)) { _ in true } ?? false
  }
}
