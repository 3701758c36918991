import LedgerPort
import LedgerRules
import Pipeline
import SQLite

// What was taken out of an attachment, as it is asked for.
extension SQLiteLedger {
  /// SQLite has the rows of one parent in the order of their keys in the index.
  private static let children = SQLText(
    """
    SELECT a.source_size, \(AttachmentRecord.expressions.joined(separator: ", "))
    FROM attachments a INDEXED BY attachments_by_parent WHERE a.parent = ?1 AND a.key > ?2 ORDER BY a.key LIMIT ?3
    """)

  public func children(
    of key: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<ChildRecord> {
    try page(after: mark, limit) { after in
      var rows: [ChildRecord] = []
      try statement(Self.children).rows(.integer(key), .integer(after), .integer(Int64(max(limit, 0)))) {
        rows.append(ChildRecord(AttachmentRecord($0, from: 1), sizeBytes: $0.integer(0)))
      }
      return (rows, rows.last?.attachment.key)
    }
  }

  public func childCount(of key: Int64) throws(LedgerError) -> Int {
    try reading {
      try statement("SELECT count(*) FROM attachments WHERE parent = ?1").first(.integer(key)) {
        Int($0.integer(0))
      } ?? 0
    }
  }

  public func standing(
    of children: [NewChild], in parent: AttachmentOrigin
  ) throws(LedgerError) -> [ChildStanding] {
    try reading {
      try NewChild.identities(of: children, parent: parent, hash).map { identity in
        if let id = try statement(SQL.knownAttachment).first(.blob(identity), make: { $0.text(0) }) {
          return .known(id)
        }
        // Only a coordinator knows without asking whether there are any.
        let isDeleted = try statement(SQL.tombstone).first(.blob(tombstoneIdentity(identity))) { _ in true }
        return isDeleted == true ? .deleted : .new
      }
    }
  }
}
