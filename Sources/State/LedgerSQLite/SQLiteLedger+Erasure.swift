import LedgerPort
import SQLite

// The bytes of deleted rows.
extension SQLiteLedger {
  /// Rows were deleted: copies of their bytes may be in the file, and in the log. Must be called within a transaction.
  func noteResidue() throws {
    hasTombstones = true
    if hasResidue { return }
    try statement(SQL.noteResidue).run()
    hasResidue = true
  }

  public func isErasing() throws(LedgerError) -> Bool {
    try reading { try statement("SELECT residue FROM ledger").first { $0.integer(0) == 1 } ?? false }
  }

  /// Overwrites the bytes of deleted rows, where there may be any, and gives back the room of a file that is half empty.
  ///
  /// SQLite's `secure_delete` overwrites deleted rows. But a page that was split keeps copies of rows that moved, so that one in a
  /// hundred is left. What fails here, for lack of room or because of a reader, is done another time.
  ///
  /// - Parameter end: a time of the monotonic clock after which it begins no other step.
  func erase(until end: UInt64 = .max) {
    if !hasResidue { return }
    do {
      guard try mergeWords(until: end) else { return }
      guard try connection.eraseResidue() else { return }
      try connection.execute("UPDATE ledger SET residue = 0")
      hasResidue = false
      if try isHalfEmpty() {
        try connection.execute("VACUUM")
        _ = connection.truncateLog()
      }
    } catch {
      return
    }
  }

  /// Whether to write what is left costs less than what is given back.
  private func isHalfEmpty() throws -> Bool {
    let pages = try statement("PRAGMA page_count").first { $0.integer(0) } ?? 0
    let free = try statement("PRAGMA freelist_count").first { $0.integer(0) } ?? 0
    return free > pages / 2
  }

  /// In a ledger of this size in bytes, deleted rows are overwritten in a tenth of a second.
  private static let quicklyErased: Int64 = 64 << 20
  /// Nanoseconds without an exchange after which they are in a larger one.
  private static let longIdle: UInt64 = 5_000_000_000

  /// Nanoseconds for which the indexes of words are merged, before commands are looked for.
  private static let mergingStep: UInt64 = 100_000_000

  /// Erases while no command and no worker waits for the ledger. A large ledger takes so long that none may come meanwhile.
  ///
  /// - Returns: whether it is to be called again.
  func eraseAtRest() -> Bool {
    if !hasResidue { return false }
    let now = clock.monotonic()
    let isLarge = (size ?? .max) > Self.quicklyErased
    if now < nextErasure || isLarge && now < lastExchangeAt + Self.longIdle { return true }
    erase(until: now + Self.mergingStep)
    nextErasure = clock.monotonic() + 1_000_000_000
    return hasResidue
  }

  /// Of the file, in bytes; `nil`: it cannot be told.
  private var size: Int64? {
    let pages = try? statement("PRAGMA page_count").first { $0.integer(0) }
    let bytes = try? statement("PRAGMA page_size").first { $0.integer(0) }
    guard let pages, let bytes else { return nil }
    return pages * bytes
  }
}
