import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import SQLite

/// What keeps the ledger.
public enum LedgerEngine {
  /// As `3.40.1`.
  public static var sqliteVersion: String { Connection.libraryVersion }
}

extension Home {
  /// Opens the ledger for writing. The caller holds the home's lock.
  public func join() throws(LedgerError) -> any LedgerWriter & LedgerMaintenance { try SQLiteLedger(self) }

  /// The same, with what seals secrets, made from what the home's keys follow from. Without, no secrets are taken in, nor worked on.
  public func join(
    sealer: (SealedHome) throws -> any Sealer
  ) throws -> any LedgerWriter & LedgerMaintenance {
    let ledger = try SQLiteLedger(self)
    let made = try sealer(try ledger.sealedHome())
    if let key = made.newIndexKey { try ledger.keepIndexKey(key) }
    ledger.sealer = made
    return ledger
  }

  /// What its keys follow from, of a home that is only read.
  public func sealedHome() throws(LedgerError) -> SealedHome {
    try SQLiteLedger(reading: self).foundSealedHome()
  }

  /// Opens the ledger for reading, whether or not a coordinator is running.
  public func reader() throws(LedgerError) -> any LedgerMaintenance { try SQLiteLedger(reading: self) }

  /// The same, with what seals secrets, by which links are known.
  public func reader(sealer: (SealedHome) throws -> any Sealer) throws -> any LedgerMaintenance {
    let ledger = try SQLiteLedger(reading: self)
    ledger.sealer = try sealer(try ledger.foundSealedHome())
    return ledger
  }

  /// Refuses a copy that was put in the place of a ledger whose write-ahead log is still there: SQLite would
  /// replay that log into the copy. The header tells: a ledger gets its log only after bytes 18 and 19 of its
  /// header have become 2 (https://sqlite.org/fileformat2.html#file_format_version_numbers).
  ///
  /// The header is read through SQLite. A process that opens and closes the file in another way loses all the locks that it has
  /// there (https://sqlite.org/howtocorrupt.html, 2.2), and the next program that reads the ledger takes its log away.
  func checkLog() throws(LedgerError) {
    var facts = stat()
    guard stat(ledgerPath + "-wal", &facts) == 0, facts.st_size > 0 else { return }
    // If the file does not open, SQLite will report why.
    guard let header = try? Connection(ledgerPath, .readOnly).header(20), header[18] == 1, header[19] == 1
    else { return }
    throw LedgerError(
      .damaged,
      "\(ledgerPath) is a copy, and \(ledgerPath)-wal beside it belongs to the ledger it replaced; take \(ledgerPath)-wal and "
        + "\(ledgerPath)-shm away, then run again")
  }

  /// From now on, this process refuses to open the ledger's files as sources, under any name.
  func keepLocks() {
    for end in ["", "-wal", "-shm"] { sluice_keep_locks(ledgerPath + end) }
  }
}
