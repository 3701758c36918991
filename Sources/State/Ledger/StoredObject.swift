import SQLite

/// The object of an attachment as recorded in the ledger.
public struct StoredObject: Sendable, Equatable {
  public var key: Int64
  public var id: String
  /// The object's path, relative to the store.
  public var url: String
  public var sizeBytes: Int64
  public var sha256: [UInt8]
  /// The path of the file it came from.
  public var source: [UInt8]
  /// The SHA-256 of the source file in hexadecimal digits, if a stage replaced the content; else `nil`, and
  /// the object's own hash applies.
  public var sourceSHA256: String?
}

extension Ledger {
  /// The objects of the attachments after a key, in order of intake. Read in pages, because a long read
  /// transaction would keep the write-ahead log from being checkpointed.
  public func storedObjects(after key: Int64) throws(LedgerError) -> [StoredObject] {
    try objects("\(Self.storedObjectColumns) AND key > ?1 ORDER BY key LIMIT 500", .integer(key))
  }

  /// Whether any attachment has an object.
  public func hasObjects() throws(LedgerError) -> Bool {
    try reading {
      try statement("SELECT 1 FROM attachments WHERE status = 'completed' AND url IS NOT NULL LIMIT 1")
        .first { _ in true } ?? false
    }
  }

  /// The object of an attachment; `nil`: it has none.
  public func storedObject(ofAttachment id: String) throws(LedgerError) -> StoredObject? {
    try objects("\(Self.storedObjectColumns) AND id = ?1", .text(id)).first
  }

  /// Whether an attachment has its object at this path, with this content.
  public func hasObject(at url: String, sha256: [UInt8]) throws(LedgerError) -> Bool {
    try reading {
      try statement("SELECT 1 FROM attachments WHERE sha256 = ?1 AND url IS NOT NULL AND url = ?2 LIMIT 1")
        .first(.blob(sha256), .text(url)) { _ in true } ?? false
    }
  }

  private static let storedObjectColumns = """
    SELECT key, id, url, coalesce(size_bytes, -1), sha256, source,
      CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$."original.sha256"') END
    FROM attachments WHERE url IS NOT NULL
    """

  private func objects(_ sql: String, _ value: Statement.Value) throws(LedgerError) -> [StoredObject] {
    try reading {
      var objects: [StoredObject] = []
      try connection.prepare(sql).rows(value) { row in
        objects.append(
          StoredObject(
            key: row.integer(0), id: row.text(1), url: row.text(2), sizeBytes: row.integer(3),
            sha256: row.blob(4),
            source: row.blob(5), sourceSHA256: row.optionalText(6)))
      }
      return objects
    }
  }
}
