import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Questions about known files.
extension SQLiteLedger {
  public func known(_ item: IntakeItem) throws(LedgerError) -> KnownFile? {
    try reading {
      try statement(Self.knownFile).first(.blob(try identity(of: item))) { row in
        var file = KnownFile(
          id: row.text(0), status: Status(rawValue: row.text(1)) ?? .queued, url: row.optionalText(2),
          sizeBytes: row.optionalInteger(3))
        let sha256 = row.blob(4)
        if sha256.isEmpty { return file }
        file.sha256 = sha256
        // Present if a stage has replaced the content.
        file.sourceSHA256 = row.optionalText(5).map { Hexadecimal.bytes($0) ?? [] } ?? sha256
        return file
      }
    }
  }

  public func wasDeleted(_ item: IntakeItem) throws(LedgerError) -> Bool {
    try reading {
      try statement(SQL.tombstone).first(.blob(tombstoneIdentity(try identity(of: item)))) { _ in true }
        ?? false
    }
  }

  private func identity(of item: IntakeItem) throws -> [UInt8] {
    let transfer = try item.link.flatMap { try identity(of: $0) }
    return item.identity(transfer: transfer ?? [], hash)
  }

  private static let knownFile: StaticString = """
    SELECT id, status, url, size_bytes, sha256, CASE WHEN json_valid(metadata) THEN metadata ->> '$."original.sha256"' END
    FROM attachments WHERE identity = ?1
    """
}
