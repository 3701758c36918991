import LedgerPort
import SQLite

// Another key: what is sealed is sealed anew. Identities follow from a key of their own, which is among what is sealed, and stay.
extension SQLiteLedger {
  /// Keeps the key of the blind indexes where none is on record.
  func keepIndexKey(_ sealed: [UInt8]) throws(LedgerError) {
    try transaction {
      try statement("UPDATE ledger SET index_key = ?1 WHERE index_key IS NULL").run(.blob(sealed))
    }
  }

  public func resealRows(
    after key: Int64, limit: Int, givesUpLost: Bool
  ) throws(LedgerError) -> Resealed {
    guard let sealer else { throw LedgerError(.other, "\(path) was opened without the key that seals") }
    return try transaction {
      var resealed = Resealed()
      var rows: [(key: Int64, identity: [UInt8], request: [UInt8], validators: [UInt8]?)] = []
      try statement(SQL.sealedRows).rows(.integer(key), .integer(Int64(limit))) { row in
        rows.append((row.integer(0), row.blob(1), row.blob(2), row.isNull(3) ? nil : row.blob(3)))
      }
      for row in rows {
        if givesUpLost, ![row.request, row.validators].allSatisfy({ $0.map(sealer.hasKey) != false }) {
          resealed.lost += 1
          continue
        }
        let request = try sealer.reseal(row.request, for: Self.place("request", row.identity))
        let validators = try row.validators.flatMap {
          try sealer.reseal($0, for: Self.place("validators", row.identity))
        }
        if request == nil && validators == nil { continue }
        try statement(SQL.reseal).run(
          .integer(row.key), .blob(request ?? row.request), .optional(validators ?? row.validators))
        resealed.rows += 1
      }
      resealed.last = rows.count < limit ? nil : rows.last?.key
      // The last: where it opens, all else was sealed anew or given up.
      if resealed.last == nil, try resealIndexKey(sealer, givesUpLost: givesUpLost) { resealed.rows += 1 }
      // Pages that were split may keep copies of the old values.
      if resealed.rows > 0 { try noteResidue() }
      return resealed
    }
  }

  private func resealIndexKey(_ sealer: any Sealer, givesUpLost: Bool) throws -> Bool {
    let found = try statement("SELECT home_id, index_key FROM ledger WHERE index_key IS NOT NULL").first {
      (id: $0.blob(0), key: $0.blob(1))
    }
    guard let found else { return false }
    let place = SealedPlace(table: "ledger", column: "index_key", row: found.id)
    let instead = givesUpLost ? sealer.indexKeyInsteadOfLost : nil
    guard let sealed = try instead ?? sealer.reseal(found.key, for: place) else { return false }
    try statement("UPDATE ledger SET index_key = ?1").run(.blob(sealed))
    return true
  }

  public func sealedRows() throws(LedgerError) -> [String: Int64] {
    try reading {
      var rows: [String: Int64] = [:]
      try connection.prepare(SQL.rowsOfKeys).rows { rows[$0.text(0)] = $0.integer(1) }
      return rows
    }
  }

  public func eraseReplaced() throws(LedgerError) -> Bool {
    erase()
    if hasResidue { return false }
    return connection.truncateLog()
  }
}

extension SQL {
  fileprivate static let sealedRows: StaticString =
    "SELECT key, identity, request, validators FROM transfers WHERE key > ?1 ORDER BY key LIMIT ?2"

  fileprivate static let reseal: StaticString =
    "UPDATE transfers SET request = ?2, validators = ?3 WHERE key = ?1"

  /// The bytes 2 to 5 of a sealed value are the id of its key. A row with two keys counts for both.
  fileprivate static let rowsOfKeys = """
    SELECT id, count(*) FROM (
      SELECT key, lower(hex(substr(request, 2, 4))) AS id FROM transfers
      UNION SELECT key, lower(hex(substr(validators, 2, 4))) FROM transfers WHERE validators IS NOT NULL
      UNION SELECT 0, lower(hex(substr(index_key, 2, 4))) FROM ledger WHERE index_key IS NOT NULL)
    GROUP BY id
    """
}
