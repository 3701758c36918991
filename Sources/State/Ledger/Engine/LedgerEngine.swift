import SQLite

/// What keeps the ledger.
public enum LedgerEngine {
  /// As `3.40.1`.
  public static var sqliteVersion: String { Connection.libraryVersion }
}

extension Home {
  /// Opens the ledger for writing. The caller holds the home's lock.
  public func join() throws(LedgerError) -> any LedgerWriter & LedgerMaintenance { try SQLiteLedger(self) }

  /// Opens the ledger for reading, whether or not a coordinator is running.
  public func reader() throws(LedgerError) -> any LedgerMaintenance { try SQLiteLedger(reading: self) }
}
