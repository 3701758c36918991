import LedgerPort
import SQLite

// Checks of a ledger by itself. Read only.
extension SQLiteLedger: LedgerMaintenance {
  /// Checks that the file is intact, by SQLite's own check, and that its tables are the ones this program
  /// creates. Damage of this kind may be anywhere, so the rows cannot be trusted then.
  ///
  /// `integrity_check` looks at every page, index and CHECK constraint, and at the types of a STRICT table
  /// (https://sqlite.org/pragma.html#pragma_integrity_check).
  public func inspectFile(_ report: (Finding) -> Void) throws(LedgerError) {
    let remedy =
      "restore the ledger from a backup (`sluice backup --help` tells how), or begin with another --home"
    func damaged(_ message: String) {
      report(Finding("ledger-damaged", "sluice.db", message, remedy: remedy))
    }
    do {
      var isWhole = true
      try connection.prepare("PRAGMA integrity_check").rows { row in
        // One row reports all problems of a damaged file's trees and pages, and may have several lines.
        for line in row.text(0).split(separator: "\n") where line != "ok" && !line.hasPrefix("***") {
          isWhole = false
          damaged(String(line))
        }
      }
      let (made, expected) = (try schema(of: connection), try Self.newSchema())
      if isWhole && made != expected { damaged("its tables are not those this sluice makes") }
    } catch let error as SQLiteError where error.isDamage {
      damaged(error.message)
    } catch {
      throw LedgerError(error, path: path)
    }
  }

  /// Checks that the rows agree with each other, in one snapshot. A coordinator may go on writing meanwhile.
  public func inspectRows(_ report: (Finding) -> Void) throws(LedgerError) {
    try reading {
      try connection.execute("BEGIN")
      defer { try? connection.execute("COMMIT") }  // ends a transaction that only read
      try connection.prepare("PRAGMA foreign_key_check").rows { row in
        report(
          Finding(
            "row-missing", "row \(row.integer(1)) of `\(row.text(0))`",
            "what it refers to in `\(row.text(2))` is not there",
            remedy: "restore the ledger from a backup; nothing else tells what the row was"))
      }
      for rule in InspectionRule.all {
        try connection.prepare(rule.sql).rows { row in
          report(Finding(rule.code, row.text(0), row.text(1), remedy: rule.remedy))
        }
      }
    }
  }

  /// The statements that create the tables, with the names of the tables.
  private func schema(of connection: Connection) throws -> [String] {
    var schema: [String] = []
    // What a pipeline has asked for is in some ledgers.
    let sql = """
      SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE name <> '\(SQL.prefetchIndex)'
      ORDER BY type, name
      """
    try connection.prepare(sql).rows { row in
      schema.append((0..<4).map { row.text($0) }.joined(separator: "\0"))
    }
    return schema
  }

  private static func newSchema() throws -> [String] {
    let ledger = try SQLiteLedger(path: ":memory:")
    return try ledger.schema(of: ledger.connection)
  }
}
