import Glibc
import HomeFolder
import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

/// The ledger in SQLite: messages, attachments, the queue, attempts, the outbox.
///
/// Used by one thread at a time. SQLite has one writer: join only while holding the home's lock, which proves that every other
/// coordinator has ended.
package final class SQLiteLedger: LedgerWriter {
  let connection: Connection
  let path: String
  /// 0: it reads.
  public private(set) var holder: Int64 = 0
  /// The last exchange, with its answer: it may be asked for again.
  var last: (number: Int64, reply: ExchangeReply)?
  /// An exchange whose transaction was begun.
  var undecided: (number: Int64, reply: ExchangeReply)?
  var history: Int64 = 0
  /// The number of the last change.
  var lastChange: Int64 = 0
  var ids: UUIDv7Generator
  let clock: Clock
  package let hash: SHA256
  private var prepared = StatementCache()
  /// The keys of the stage sequences on record, by fingerprint.
  var fingerprintKeys: [String: Int64] = [:]
  /// The fingerprint that was last asked for.
  var lastFingerprint: (text: String, key: Int64)?
  /// The deliveries that the current exchange adds and leases at once.
  var newborn = Newborn([])
  /// A person has deleted attachments.
  var hasTombstones = false
  /// Attachments were taken out of others.
  package var hasExpansions = false
  package var hasConversations = false
  /// The file may hold bytes of deleted rows; and when they are erased at the earliest, in nanoseconds of the monotonic clock.
  var hasResidue = false
  var nextErasure: UInt64 = 0
  /// When the last exchange was, in nanoseconds of the monotonic clock.
  var lastExchangeAt: UInt64 = 0
  /// What one page looks at, at most; tests make it few.
  var candidates = (attachments: 50_000, deliveries: 20_000)
  /// The keys of lanes on record.
  var laneKeys: [(lane: LaneName, key: Int64)] = []
  private let home: Home?
  /// Seals what is secret; `nil`: nothing that is can be taken in, or worked on.
  package var sealer: (any Sealer)?
  /// Which senders and hosts of transfers had a turn last.
  var turns = TransferTurns()
  /// The sender of attachments and of deliveries that had a turn last, by the key of the lane.
  var lastTurns: [Int64: Int64] = [:]
  /// The last sender whose turn was asked for.
  private var lastOwner: (id: ByteText, turn: Int64)?

  /// See ``Lease/turn``.
  package func turn(of owner: String) throws -> Int64 {
    if let lastOwner, lastOwner.id == ByteText(owner) { return lastOwner.turn }
    let turn = TurnClaim.turn(of: owner, hash)
    lastOwner = (ByteText(owner), turn)
    return turn
  }
  /// Which links are fetched by themselves.
  var prefetch = Prefetch()

  /// Opens the ledger of a home for writing, and takes back what lost coordinators had in hand.
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
      hash = try SHA256()
      try home?.checkLedgerIsThere()
      try home?.checkLog()
      connection = try Connection(path)
      try connection.addWordTokenizer()
      try checkVersion()
      connection.keepLog()
      try connection.execute(
        """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \(Schema.checkReferences);
        PRAGMA cache_size = -32000; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 33554432;
        """)
      connection.checkpointByHand()
      try makeTables()
      try join()
      home?.keepLocks()
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
      hash = try SHA256()
      try home.checkLedgerIsThere()
      try home.checkLog()
      connection = try Connection(reading: home.ledgerPath)
      connection.neverCheckpointOnClose()
      try connection.addWordTokenizer()
      // In one transaction: a coordinator may be creating the tables.
      try connection.execute("BEGIN")
      if try checkVersion() == 0 {
        throw LedgerError(
          .inUse,
          "\(path) is just being made; try again, or run `sluice ingest` if no other command is making it")
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

  /// Refuses a file that is no ledger of this version, before the first write. Returns 0 for a file without tables.
  @discardableResult
  private func checkVersion() throws -> Int64 {
    let version = try schemaVersion()
    if version > Schema.version {
      throw LedgerError(
        .otherVersion,
        "\(path) has schema version \(version), and this sluice knows up to \(Schema.version); use the newer sluice that wrote it"
      )
    }
    if (1..<Schema.version).contains(version) {
      // A damaged file may say anything of its version.
      let fault = try connection.prepare("PRAGMA quick_check(1)").first { $0.text(0) }
      if let fault, fault != "ok" { throw LedgerError(.damaged, "\(path): \(fault); \(LedgerError.restore)") }
      throw LedgerError(
        .otherVersion,
        "\(path) has schema version \(version), of a sluice from before the first release, and nothing brings it up; begin with "
          + "another --home, and ingest the sources again")
    }
    let tables = try connection.prepare("SELECT count(*) FROM sqlite_schema").first { $0.integer(0) } ?? 0
    if version < 0 || (version == 0 && tables > 0) {
      throw LedgerError(
        .damaged,
        "\(path): is a database of something else, and stays as it is; move it away, or begin with another --home"
      )
    }
    return version
  }

  private func makeTables() throws {
    if try schemaVersion() == Schema.version { return }
    try connection.transaction {
      try connection.execute(Schema.tables)
      try connection.execute(Schema.firstRows)
      try connection.execute("PRAGMA user_version = \(Schema.version)")
    }
  }

  // MARK: Coordinators

  /// Becomes the coordinator, and takes back what others had in hand. What the program paused is tried again.
  private func join() throws {
    try connection.transaction {
      try followClock()
      try statement(SQL.join).run(.integer(.random(in: 1...Int64.max)))
      (holder, history, lastChange) =
        try statement(SQL.ledger).first { ($0.integer(0), $0.integer(1), $0.integer(2)) } ?? (1, 1, 0)
      try statement(SQL.addCoordinator).run(
        .integer(holder), .text("\(Host.name), process \(getpid())"), .integer(clock.now()))
      _ = try giveBackLost()
      try liftFaults()
    }
    hasResidue = try statement("SELECT residue FROM ledger").first { $0.integer(0) == 1 } ?? false
    hasTombstones =
      try statement("SELECT EXISTS (SELECT 1 FROM tombstones)").first { $0.integer(0) == 1 } ?? false
    hasExpansions =
      try statement("SELECT EXISTS (SELECT 1 FROM expansions)").first { $0.integer(0) == 1 } ?? false
    hasConversations =
      try statement("SELECT EXISTS (SELECT 1 FROM conversations)").first { $0.integer(0) == 1 } ?? false
  }

  /// Lifts what the program paused, as a visible change.
  private func liftFaults() throws {
    var changed = ChangedSubjects()
    try statement(SQL.faultyLanes).rows { row in
      if let kind = LaneName.Kind(rawValue: row.text(0)) { changed.add(lane: LaneName(kind, row.text(1))) }
    }
    try statement(SQL.liftFaults).run()
    if let position = try advance(changed, at: clock.steady(), clock.now()) { lastChange = position.number }
  }

  /// Takes back what all others had in hand: the home's lock proves that they have ended.
  public func takeBackLost() throws(LedgerError) -> Int {
    try transaction { try giveBackLost() }
  }

  private func giveBackLost() throws -> Int {
    let transfers = try transfersInHand(ofOthers: true)
    try statement(SQL.takeBackLost).run(.integer(holder))
    let count = connection.changes
    try drop(transfers)
    try statement(SQL.removeLost).run(.integer(holder))
    return count
  }

  /// Drops the unneeded transfers of a coordinator that has ended.
  private func drop(_ transfers: [Int64]) throws {
    var (rows, tally) = (self, tally())
    for transfer in transfers { try rows.leave(transfer: transfer, &tally) }
  }

  public func leave() throws(LedgerError) {
    try transaction {
      let transfers = try transfersInHand(ofOthers: false)
      try statement(SQL.giveBack).run(.integer(holder))
      try drop(transfers)
      try statement(SQL.removeCoordinator).run(.integer(holder))
    }
    erase()
  }

  /// Where the clock was changed since a coordinator last recorded, moves scheduled jobs by as much, so that their remaining wait
  /// stays the same. Within a run of the kernel it is known how much time has passed; after a restart only that time does not go
  /// back.
  private func followClock() throws {
    let kernelRun = Host.kernelRun
    let seen = try statement(SQL.seen).first { ($0.integer(0), $0.integer(1), $0.text(2)) }
    let (now, sinceBoot) = (clock.steady(), clock.sinceBoot())
    if let (at, atSinceBoot, run) = seen, at > 0 {
      let isSameRun = run == kernelRun && !run.isEmpty && atSinceBoot <= sinceBoot
      let jump = isSameRun ? now &- (at &+ sinceBoot &- atSinceBoot) : min(now - at, 0)
      // Less is the clock's own correction.
      if jump.magnitude >= 1000 { try statement(SQL.moveScheduled).run(.integer(jump)) }
    }
    try statement(SQL.see).run(.integer(now), .integer(sinceBoot), .text(kernelRun))
  }

  /// A statement, prepared once.
  func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    let address = UInt(bitPattern: sql.utf8Start)
    if let known = prepared[address] { return known }
    let statement = try connection.prepare("\(sql)")
    prepared.add(statement, address)
    return statement
  }

  func statement(_ sql: SQLText) throws(SQLiteError) -> Statement {
    let address = UInt(bitPattern: Unmanaged.passUnretained(sql).toOpaque())
    if let known = prepared[address] { return known }
    let statement = try connection.prepare(sql.text)
    prepared.add(statement, address)
    return statement
  }

  /// The length of the log, in pages, that triggers a checkpoint: after a transaction, once its result is
  /// delivered; and while the ledger is idle.
  private static let longestLog = (afterTransaction: 2000, idle: 100)

  /// Checkpoints the log if it is long, which takes longer than a transaction; drops old changes; and erases what was deleted.
  @discardableResult
  public func rest(isIdle: Bool) -> Bool {
    let longest = isIdle ? Self.longestLog.idle : Self.longestLog.afterTransaction
    if connection.pagesInLog >= longest { connection.checkpoint() }
    if !isIdle {
      if hasResidue { lastExchangeAt = clock.monotonic() }
      return false
    }
    dropOldChanges()
    return eraseAtRest()
  }

  /// Runs a body in one durable transaction.
  func transaction<Result>(_ body: () throws -> Result) throws(LedgerError) -> Result {
    do {
      return try connection.transaction(body)
    } catch {
      // What it had added is not there.
      laneKeys.removeAll()
      fingerprintKeys.removeAll()
      lastFingerprint = nil
      // A request that was refused has put nothing aside.
      if (error as? LedgerError)?.code != .fenced { prefetch.lookAgain() }
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
