import SQLite

// What was taken out of an attachment, as it is asked for.
extension SQLiteLedger {
  /// SQLite has the rows of one parent in the order of their keys in the index.
  private static let children = SQLText(
    """
    SELECT \(AttachmentRecord.expressions.joined(separator: ", ")) FROM attachments a INDEXED BY attachments_by_parent
    WHERE a.parent = ?1 AND a.key > ?2 ORDER BY a.key LIMIT ?3
    """)

  public func children(
    of key: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    try page(after: mark, limit) { after in
      var rows: [AttachmentRecord] = []
      try statement(Self.children).rows(.integer(key), .integer(after), .integer(Int64(max(limit, 0)))) {
        rows.append(AttachmentRecord($0))
      }
      return (rows, rows.last?.key)
    }
  }

  public func childCount(of key: Int64) throws(LedgerError) -> Int {
    try reading {
      try statement("SELECT count(*) FROM attachments WHERE parent = ?1").first(.integer(key)) {
        Int($0.integer(0))
      } ?? 0
    }
  }
}
