import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Platform
import SQLite

/// A copy of a ledger, made while a coordinator may go on writing.
///
/// `VACUUM INTO` reads a snapshot in one read transaction, on a connection that can neither write nor
/// checkpoint. The bug of SQLite before 3.51.3 needs two connections that reset the log; here there is still
/// only one. `VACUUM INTO` reads every tree of the file, so damage is found; copying page by page
/// (`sqlite3_backup_step`) would copy the damage. The copy's header says "rollback journal", while the header
/// of a ledger that was ever opened says "write-ahead log". This difference reveals another ledger's log
/// beside a restored copy (``Home/checkLog()``).
public struct LedgerBackup {
  private let home: Home
  private let file: String
  private var partial: String { file + ".partial" }

  public init(of home: Home, to file: String) {
    self.home = home
    // Make it a plain path: a name that begins with `file:` would be a URI for SQLite.
    self.file = file.hasPrefix("/") ? file : "./" + file
  }

  /// Makes the copy under a temporary name beside the target, checks and syncs it, then renames it.
  ///
  /// - Returns: its size in bytes.
  public func make(replacing: Bool) throws(LedgerError) -> Int64 {
    do {
      try checkTarget()
      let descriptor = try hold()
      try copy()
      try check()
      if fsync(descriptor.number) != 0 { throw SystemError("syncing \(partial)") }
      try name(replacing: replacing)
      var facts = stat()
      return fstat(descriptor.number, &facts) == 0 ? Int64(facts.st_size) : 0
    } catch let error as SystemError {
      throw LedgerError(
        error.code == EEXIST ? .other : .unwritable, "\(error); give another FILE, or make room for this one",
        cause: error)
    } catch let error as SQLiteError where error.code.primary == .full {
      throw LedgerError(.full, "\(partial): no room on the disk; make room, then run again", cause: error)
    } catch {
      throw LedgerError(error, path: home.ledgerPath)
    }
  }

  /// Refuses to replace any file but an earlier copy.
  private func checkTarget() throws {
    let own = OwnFiles(of: home)
    for path in [file, partial] {
      if let name = own.name(of: path) {
        throw LedgerError(.unwritable, "\(path) is the \(name) of this home; give another FILE")
      }
    }
    var facts = stat()
    guard lstat(file, &facts) == 0 else { return }
    if own.holds(file) {
      throw LedgerError(
        .unwritable, "\(file) lies in the home, where nothing is replaced; give a FILE elsewhere")
    }
    // A file that cannot be read is not known to be a copy.
    guard sluice_file_type(facts.st_mode) == S_IFREG, let opened = try? Descriptor.open(file, Self.reading),
      try Self.kind(of: opened.number) == .copy, Self.isLedger(file)
    else {
      throw LedgerError(
        .unwritable,
        "\(file) is no copy of a ledger, and is left as it is; take it away, or give another FILE")
    }
  }

  /// Whether its tables are a ledger's.
  private static func isLedger(_ path: String) -> Bool {
    let tables = """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'table' AND name IN ('ledger', 'attachments', 'jobs', 'deliveries')
      """
    // A file that SQLite cannot open is not a ledger.
    return (try? Connection(path, .readOnly).prepare(tables).first { $0.integer(0) }) == 4
  }

  private static let reading = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

  private enum Kind {
    /// It has a rollback journal, as copies have; a ledger in use has a write-ahead log.
    case copy
    case empty, other
  }

  /// What an open file holds, judged by its header (https://sqlite.org/fileformat2.html#the_database_header).
  private static func kind(of file: Int32) throws(SystemError) -> Kind {
    var header = [UInt8](repeating: 0, count: 20)
    let count = pread(file, &header, header.count, 0)
    if count < 0 { throw SystemError("reading a header") }
    // If SQLite was interrupted, the file is empty or begins with a page that was not written yet.
    if header.allSatisfy({ $0 == 0 }) { return .empty }
    let isCopy = count == header.count && header.starts(with: "SQLite format 3\0".utf8) && header[18] == 1
    return isCopy ? .copy : .other
  }

  /// Creates the file for the copy, or empties the one that an interrupted backup left.
  private func hold() throws -> Descriptor {
    let descriptor = try Descriptor.open(partial, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    var facts = stat()
    guard fstat(descriptor.number, &facts) == 0, sluice_file_type(facts.st_mode) == S_IFREG else {
      throw LedgerError(.unwritable, "\(partial): is no regular file; take it away, or give another FILE")
    }
    guard try Self.kind(of: descriptor.number) != .other else {
      throw LedgerError(
        .unwritable,
        "\(partial) is where the copy would be made, and holds something else; take it away, or give another FILE"
      )
    }
    guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw SystemError("locking \(partial)") }
      throw LedgerError(.inUse, "\(partial) is being written by another backup; wait for it to end")
    }
    if ftruncate(descriptor.number, 0) != 0 { throw SystemError("emptying \(partial)") }
    return descriptor
  }

  private func copy() throws {
    let ledger = try SQLiteLedger(reading: home)
    try ledger.connection.prepare("VACUUM INTO ?1").run(.text(partial))
  }

  /// Initializes the copy's state, and has SQLite check all of it.
  private func check() throws {
    let connection = try Connection(partial)
    // A journal left by a killed process would be taken for the next copy's.
    try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    try connection.execute(SQL.releaseInCopy)
    try eraseWords(connection)
    let version = try connection.prepare("PRAGMA user_version").first { $0.integer(0) }
    let integrity = try connection.prepare("PRAGMA integrity_check(1)").first { $0.text(0) }
    let reference = try connection.prepare("PRAGMA foreign_key_check").first { $0.text(0) }
    guard version == Schema.version, integrity == "ok", reference == nil else {
      let what = integrity == "ok" ? "a row refers to one that is not there" : integrity ?? "it is empty"
      throw LedgerError(
        .damaged,
        "\(home.ledgerPath): the copy is not whole (\(what)), for the ledger is damaged; \(LedgerError.restore)"
      )
    }
  }

  /// Rows of the indexes, which are copied as they are, may have words of deleted texts.
  private func eraseWords(_ connection: Connection) throws {
    let residue = try connection.prepare("SELECT residue FROM ledger").first { $0.integer(0) }
    if residue != 1 { return }
    try connection.addWordTokenizer()
    try connection.execute(
      """
      PRAGMA secure_delete = ON;
      INSERT INTO words (words) VALUES ('rebuild');
      INSERT INTO user_names (user_names) VALUES ('rebuild');
      """)
    _ = try connection.eraseResidue()
  }

  private func name(replacing: Bool) throws {
    let result =
      replacing
      ? rename(partial, file) : sluice_rename_new(AT_FDCWD, partial, AT_FDCWD, file)
    if result != 0 { throw SystemError("naming \(file)") }
    let parent = file.lastIndex(of: "/").map { String(file[...$0]) } ?? "."
    let folder = try Descriptor.open(parent, O_RDONLY | O_DIRECTORY)
    if fsync(folder.number) != 0 { throw SystemError("syncing \(parent)") }
  }
}
