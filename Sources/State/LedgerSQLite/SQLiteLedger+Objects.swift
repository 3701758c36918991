import LedgerPort
import SQLite

// Objects, as the ledger has them.
extension SQLiteLedger {
  public func objects(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject> {
    try page(after: mark, limit) { after in
      let rows = try objects(Self.pageOfObjects, .integer(after), .integer(Int64(limit)))
      return (rows, rows.last?.key)
    }
  }

  public func hasObjects() throws(LedgerError) -> Bool {
    try reading { try statement("SELECT 1 FROM names WHERE uses > 0 LIMIT 1").first { _ in true } ?? false }
  }

  public func object(ofAttachment id: String) throws(LedgerError) -> StoredObject? {
    try reading { try objects(Self.objectOfAttachment, .text(id)).first }
  }

  public func hasObject(at path: String, sha256: [UInt8]) throws(LedgerError) -> Bool {
    try reading {
      try statement("SELECT 1 FROM attachments WHERE sha256 = ?1 AND url IS NOT NULL AND url = ?2 LIMIT 1")
        .first(.blob(sha256), .text(path)) { _ in true }
        ?? statement("SELECT 1 FROM derived WHERE sha256 = ?1 AND url = ?2 LIMIT 1")
        .first(.blob(sha256), .text(path)) { _ in true } ?? false
    }
  }

  public func paths(ofContent sha256: [UInt8]) throws(LedgerError) -> [String] {
    try reading {
      var paths: [String] = []
      try statement(
        """
        SELECT url FROM attachments WHERE sha256 = ?1 AND url IS NOT NULL
        UNION
        SELECT kept FROM attachments JOIN names n ON n.path = kept WHERE kept IS NOT NULL AND n.sha256 = ?1
        UNION
        SELECT url FROM derived WHERE sha256 = ?1 ORDER BY 1
        """
      ).rows(.blob(sha256)) { paths.append($0.text(0)) }
      return paths
    }
  }

  public func hasName(_ path: String) throws(LedgerError) -> Bool {
    try reading {
      try statement("SELECT 1 FROM names WHERE path = ?1").first(.text(path)) { _ in true } ?? false
    }
  }

  public func objectsToDelete(limit: Int) throws(LedgerError) -> [String] {
    try reading { try unusedNames(limit) }
  }

  /// Paths of objects that are to be deleted.
  func unusedNames(_ limit: Int) throws -> [String] {
    var paths: [String] = []
    try statement(SQL.unusedNames).rows(.integer(Int64(limit))) { paths.append($0.text(0)) }
    return paths
  }

  private static let columns = """
    SELECT key, id, coalesce(url, kept), CASE WHEN url IS NULL THEN -1 ELSE coalesce(size_bytes, -1) END,
      CASE WHEN url IS NULL THEN (SELECT n.sha256 FROM names n WHERE n.path = kept) ELSE sha256 END, source,
      CASE WHEN url IS NOT NULL AND json_valid(metadata) THEN json_extract(metadata, '$."original.sha256"') END, url IS NULL
    FROM attachments WHERE coalesce(url, kept) IS NOT NULL
    """

  private static let pageOfObjects = SQLText("\(columns) AND key > ?1 ORDER BY key LIMIT ?2")
  private static let objectOfAttachment = SQLText("\(columns) AND id = ?1")

  private func objects(_ sql: SQLText, _ values: Statement.Value...) throws -> [StoredObject] {
    var objects: [StoredObject] = []
    try statement(sql).rows(values) { row in
      objects.append(
        StoredObject(
          key: row.integer(0), id: row.text(1), url: row.text(2), sizeBytes: row.integer(3),
          sha256: row.blob(4),
          source: row.blob(5), sourceSHA256: row.optionalText(6), isKept: row.integer(7) == 1))
    }
    return objects
  }
}
