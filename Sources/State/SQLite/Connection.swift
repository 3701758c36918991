import CSQLite

/// A connection to a database file, used by one thread at a time.
///
/// Unchecked, because a connection moves between threads as a whole: in SQLite's multi-thread mode, two
/// threads must not use one connection at the same time (https://sqlite.org/threadsafe.html).
public final class Connection: @unchecked Sendable {
  let database: OpaquePointer
  /// Pages in the write-ahead log after the last commit, where ``checkpointByHand()`` was called.
  public private(set) var pagesInLog = 0

  public enum Access: Sendable {
    case readWrite, readOnly
  }

  /// Opens a file. `:memory:` opens a new database in memory.
  public init(_ path: String, _ access: Access = .readWrite) throws(SQLiteError) {
    _ = Self.isConfigured
    var opened: OpaquePointer?
    let flags = access == .readWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
    // SQLite may be built to take a name that begins with `file:` for a URI; the name of a file is the file's.
    let name = path.hasPrefix("file:") ? "./" + path : path
    let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard let opened else {
      throw SQLiteError(code: ResultCode(rawValue: code), message: "out of memory", sql: nil)
    }
    database = opened
    if code != SQLITE_OK {
      let message = String(cString: sqlite3_errmsg(opened))
      sqlite3_close_v2(opened)
      throw SQLiteError(code: ResultCode(rawValue: code), message: message, sql: nil)
    }
    sqlite3_busy_timeout(database, 10_000)
  }

  /// Opens a file to read. A program that was killed while it made the file may have left a journal to be taken back first, which
  /// only a connection that writes can do (https://sqlite.org/lockingv3.html#hot_journals).
  public convenience init(reading path: String) throws(SQLiteError) {
    let probe = try Connection(path, .readOnly)
    do throws(SQLiteError) {
      try probe.look()
    } catch {
      guard ResultCode.readOnly ~= error.code else { throw error }
      try Connection(path).look()
    }
    try self.init(path, .readOnly)
  }

  /// Reads a page of the file.
  private func look() throws(SQLiteError) {
    _ = try prepare("SELECT count(*) FROM sqlite_schema").first { $0.integer(0) }
  }

  /// Runs once, before SQLite is first used. If other code in the process has initialized SQLite already, the
  /// setting has no effect.
  private static let isConfigured = sluice_sqlite_no_memory_statistics() == SQLITE_OK

  deinit {
    sqlite3_close_v2(database)
  }

  /// The first bytes of the file, read through SQLite's own descriptor and without a lock; `nil`: it has fewer.
  ///
  /// No log is replayed, where nothing was read through this connection before.
  public func header(_ count: Int) -> [UInt8]? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    return read(file, &bytes, Int32(count), 0) == SQLITE_OK ? bytes : nil
  }

  /// Leaves checkpointing to the one process that writes.
  public func neverCheckpointOnClose() {
    _ = sluice_sqlite_no_checkpoint_on_close(database)
  }

  /// Turns automatic checkpoints off: from now on only ``checkpoint()`` copies the log into the database.
  public func checkpointByHand() {
    sqlite3_wal_hook(
      database,
      { connection, _, _, pages in
        guard let connection else { return SQLITE_OK }
        Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().pagesInLog = Int(pages)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Copies the log into the database as far as readers allow. The rest is left for the next call.
  public func checkpoint() {
    sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    pagesInLog = 0
  }

  /// Copies the whole log into the database and empties it. False: a reader is in the way.
  public func truncateLog() -> Bool {
    guard sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK else {
      return false
    }
    pagesInLog = 0
    return true
  }

  /// Keeps the write-ahead log and its index on close, so that readers find them and create none of their
  /// own.
  public func keepLog() {
    var one: Int32 = 1
    sqlite3_file_control(database, "main", SQLITE_FCNTL_PERSIST_WAL, &one)
  }

  /// Makes the tokenizer `words` known, for the indexes that use it: the words of SQLite's `unicode61`, and each character of scripts
  /// without spaces between words.
  public func addWordTokenizer() throws(SQLiteError) {
    if WordTokenizer.add(to: database) != SQLITE_OK { throw error(nil) }
  }

  /// Runs statements that return no rows.
  public func execute(_ sql: String) throws(SQLiteError) {
    if sqlite3_exec(database, sql, nil, nil, nil) != SQLITE_OK { throw error(sql) }
  }

  /// A statement, ready to be bound.
  public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    try Statement(sql, on: self)
  }

  /// Whether no transaction is open. Check this before ROLLBACK: SQLite rolls back by itself after some
  /// errors, and a second ROLLBACK would hide the first error.
  public var isOutsideTransaction: Bool { sqlite3_get_autocommit(database) != 0 }

  /// Rows the last statement changed.
  public var changes: Int { Int(sqlite3_changes(database)) }

  /// Rows changed since the connection was opened.
  public var totalChanges: Int { Int(sqlite3_total_changes(database)) }

  public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(database) }

  /// Runs a body in a transaction that takes the write lock at once (BEGIN IMMEDIATE). A transaction that
  /// begins with reading can be refused when it writes, if another connection wrote meanwhile.
  public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      if !isOutsideTransaction { try? execute("ROLLBACK") }  // report the first error
      throw error
    }
  }

  func error(_ sql: String?) -> SQLiteError {
    SQLiteError(
      code: ResultCode(rawValue: sqlite3_extended_errcode(database)),
      message: String(cString: sqlite3_errmsg(database)),
      sql: sql)
  }

  /// The library's version, as `3.40.1`.
  public static var libraryVersion: String { String(cString: sqlite3_libversion()) }
}
