import Glibc
import Pipeline
import Platform
import SQLite

/// The durable state: messages, attachments, the queue, attempts, the outbox.
///
/// Used by one thread at a time. Open it for writing only while holding the home's lock.
public final class Ledger {
  let connection: Connection
  let path: String
  /// The number of this opening. Leases of earlier openings are void.
  public private(set) var boot: Int64 = 0
  /// How many coordinators in a row, before this one, ended without finishing anything.
  public private(set) var stalls: Int64 = 0
  var lastToken: Int64 = 0
  var ids: UUIDv7Generator
  let clock: Clock
  private var prepared: [UnsafePointer<UInt8>: Statement] = [:]
  /// The keys of the stage sequences on record, by fingerprint.
  var fingerprintKeys: [String: Int64] = [:]
  /// The fingerprint that was last asked for.
  var lastFingerprint: (text: String, key: Int64)?
  private var composed: [ObjectIdentifier: Statement] = [:]
  private var attemptStatements: [Int: Statement] = [:]
  private let home: Home?

  /// Opens the ledger of a home for writing, migrates it, and takes back the leases of ended coordinators.
  public convenience init(_ home: Home) throws(LedgerError) {
    do {
      try self.init(path: home.ledgerPath, home: home)
    } catch  where error.code == .full {
      home.releaseReserve()
      try self.init(path: home.ledgerPath, home: home)
    }
    home.keepReserve()
  }

  /// Opens a ledger without a home for writing, for tests; `:memory:` creates a new one.
  public convenience init(
    path: String, clock: Clock = .machine, ids: UUIDv7Generator = UUIDv7Generator()
  ) throws(LedgerError) {
    try self.init(path: path, home: nil, clock: clock, ids: ids)
  }

  private init(
    path: String, home: Home?, clock: Clock = .machine, ids: UUIDv7Generator = UUIDv7Generator()
  ) throws(LedgerError) {
    self.path = path
    self.home = home
    (self.clock, self.ids) = (clock, ids)
    do {
      try home?.checkLedgerIsThere()
      try home?.checkLog()
      connection = try Connection(path)
      try checkVersion()
      connection.keepLog()
      try connection.execute(
        """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
        PRAGMA cache_size = -8000; PRAGMA journal_size_limit = 33554432;
        """)
      connection.checkpointByHand()
      try migrate()
      try recover()
    } catch {
      throw LedgerError(error, path: path)
    }
  }

  /// Opens the ledger of a home for reading, whether or not a coordinator is running. Such a ledger never
  /// writes and never checkpoints.
  public init(reading home: Home) throws(LedgerError) {
    path = home.ledgerPath
    self.home = nil
    (clock, ids) = (.machine, UUIDv7Generator())
    do {
      try home.checkLedgerIsThere()
      try home.checkLog()
      connection = try Connection(home.ledgerPath, .readOnly)
      connection.neverCheckpointOnClose()
      // In one transaction: a coordinator may be creating the tables.
      try connection.execute("BEGIN")
      let version = try schemaVersion()
      if version > Schema.version { throw foreignVersion(version) }
      if version < Schema.version {
        try checkVersion()
        throw version == 0
          ? LedgerError(
            .inUse,
            "\(path) is just being made; try again, or run `sluice ingest` if no other command is making it")
          : LedgerError(
            .inUse,
            "\(path) has schema version \(version), and this sluice reads \(Schema.version); `sluice ingest` or "
              + "`sluice run` brings it up to date")
      }
      try connection.execute("COMMIT")
    } catch let error as SQLiteError where error.code.primary == .cantOpen {
      throw LedgerError(
        .other, "\(path) cannot be opened; `sluice ingest` makes one, or give another --home", cause: error)
    } catch {
      throw LedgerError(error, path: home.ledgerPath)
    }
  }

  private func schemaVersion() throws -> Int64 {
    try connection.prepare("PRAGMA user_version").first { $0.integer(0) } ?? 0
  }

  private func foreignVersion(_ version: Int64) -> LedgerError {
    LedgerError(
      .newer,
      "\(path) has schema version \(version), and this sluice knows up to \(Schema.version); use the newer sluice that wrote it"
    )
  }

  /// Refuses a file that is not a ledger of this or an older version, before anything is written to it.
  private func checkVersion() throws {
    let version = try schemaVersion()
    if version > Schema.version { throw foreignVersion(version) }
    let tables = try connection.prepare("SELECT count(*) FROM sqlite_schema").first { $0.integer(0) } ?? 0
    if version < 0 || (version == 0 && tables > 0) {
      throw LedgerError(
        .damaged,
        "\(path): is a database of something else, and stays as it is; move it away, or begin with another --home"
      )
    }
  }

  private func migrate() throws {
    let version = try schemaVersion()
    if version == Schema.version { return }
    try connection.transaction {
      for migration in Schema.migrations.dropFirst(Int(version)) { try connection.execute(migration) }
      try connection.execute("PRAGMA user_version = \(Schema.version)")
    }
  }

  /// After so many suspicions, an attachment is worked on alone.
  public static let suspicionsBeforeSolitude = 3

  /// How many suspicions the end of a coordinator adds. A process may be killed often for other reasons, so
  /// it counts little; an attachment that crashes the kernel must be identified soon.
  private static let weight: (ofProcess: Int64, ofKernel: Int64) = (1, 4)

  /// Makes the jobs leased by ended coordinators due again.
  private func recover() throws {
    try connection.transaction {
      // Read before the update, which reduces the number of leased rows.
      let isOne = try statement(SQL.isOneAttachmentLeased).first { $0.integer(0) } ?? 0
      let machine = Self.kernelRun()
      let last = try connection.prepare("SELECT machine FROM ledger").first { $0.text(0) }
      let weight = last == machine || last == "" ? Self.weight.ofProcess : Self.weight.ofKernel
      try statement(SQL.begin).run()
      let row = try connection.prepare("SELECT boot, token, stalls FROM ledger").first {
        ($0.integer(0), $0.integer(1), $0.integer(2))
      }
      (boot, lastToken, stalls) = row ?? (0, 0, 0)
      try statement(SQL.takeBackLeases).run(
        .integer(boot), .integer(Int64(Self.suspicionsBeforeSolitude)), .integer(isOne),
        .integer(weight))
      let now = clock.steady()
      try statement(SQL.followClock).run(.integer(now))
      try statement(SQL.resetFrontier).run(.text(machine), .integer(now))
    }
  }

  /// The kernel's boot id, a random name for each boot (random(4)); empty if it cannot be read.
  private static func kernelRun() -> String {
    guard let file = try? Descriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY) else { return "" }
    var text = [UInt8](repeating: 0, count: 36)
    let count = read(file.number, &text, text.count)
    return String(decoding: text.prefix(max(count, 0)), as: UTF8.self)
  }

  /// A statement, prepared once. The key is the address of its text: hashing the text each time would cost
  /// more than running a short statement.
  func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    if let known = prepared[sql.utf8Start] { return known }
    let statement = try connection.prepare("\(sql)")
    prepared[sql.utf8Start] = statement
    return statement
  }

  func statement(_ sql: SQLText) throws(SQLiteError) -> Statement {
    if let known = composed[ObjectIdentifier(sql)] { return known }
    let statement = try connection.prepare(sql.text)
    composed[ObjectIdentifier(sql)] = statement
    return statement
  }

  /// The statement that records `count` steps of an attempt.
  func addAttempts(_ count: Int) throws(SQLiteError) -> Statement {
    if let known = attemptStatements[count] { return known }
    let statement = try connection.prepare(SQL.addAttempts(count))
    attemptStatements[count] = statement
    return statement
  }

  /// The length of the log, in pages, that triggers a checkpoint: after a transaction, once its result is
  /// delivered; and while the ledger is idle.
  private static let longestLog = (afterTransaction: 2000, idle: 100)

  /// Checkpoints the log if it is long. A checkpoint takes longer than a transaction, so call it after
  /// replying to requests.
  ///
  /// - Parameter isIdle: no request is waiting.
  public func checkpoint(isIdle: Bool = false) {
    let longest = isIdle ? Self.longestLog.idle : Self.longestLog.afterTransaction
    if connection.pagesInLog >= longest { connection.checkpoint() }
  }

  /// Runs a body in one durable transaction.
  func transaction<Result>(_ body: () throws -> Result) throws(LedgerError) -> Result {
    do {
      return try connection.transaction(body)
    } catch {
      if let error = error as? SQLiteError, error.code.primary == .full { home?.releaseReserve() }
      throw LedgerError(error, path: path)
    }
  }

  /// Runs a body that only reads.
  func reading<Result>(_ body: () throws -> Result) throws(LedgerError) -> Result {
    do {
      return try body()
    } catch {
      throw LedgerError(error, path: path)
    }
  }
}
