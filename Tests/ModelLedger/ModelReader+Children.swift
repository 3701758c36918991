import Ledger

// What was taken out of an attachment, as it is asked for.
extension ModelReader {
  package func children(
    of key: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<AttachmentRecord> {
    let rows = rows
    return try page(
      rows.attachments.keys.sorted(), after: mark, limit, >,
      { child in
        guard let attachment = rows.attachments[child], attachment.parent == key else { return nil }
        var record = self.record(attachment, child)
        (record.steps, record.outcome.derived) = ([], [])
        return record
      })
  }

  package func childCount(of key: Int64) throws(LedgerError) -> Int {
    rows.attachments.values.count { $0.parent == key }
  }
}
