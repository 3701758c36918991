import LedgerPort
import LedgerRules
import Pipeline
import Platform

// What was taken out of an attachment, as it is asked for.
extension ModelReader {
  package func children(
    of key: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<ChildRecord> {
    let rows = rows
    return try page(
      rows.attachments.keys.sorted(), after: mark, limit, >,
      { child in
        guard let attachment = rows.attachments[child], attachment.parent == key else { return nil }
        var record = self.record(attachment, child)
        (record.steps, record.outcome.derived) = ([], [])
        return ChildRecord(record, sizeBytes: ModelRows.size(of: attachment.source))
      })
  }

  package func childCount(of key: Int64) throws(LedgerError) -> Int {
    rows.attachments.values.count { $0.parent == key }
  }

  package func standing(
    of children: [NewChild], in parent: AttachmentOrigin
  ) throws(LedgerError) -> [ChildStanding] {
    let rows = rows
    guard let hash = try? SHA256() else { throw LedgerError(.other, "there is no SHA-256") }
    return NewChild.identities(of: children, parent: parent, hash).map { identity in
      if let id = rows.keysByIdentity[identity].flatMap({ rows.attachments[$0]?.origin.id }) {
        return .known(id)
      }
      return rows.deletedIdentities[identity] == nil ? .new : .deleted
    }
  }
}
