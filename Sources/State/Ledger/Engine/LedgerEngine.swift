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
}
