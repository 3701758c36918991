import Platform
import SQLite

// Repairs of the rows of an intact file. The caller holds the home's lock.
extension Ledger {
  /// Recomputes the counts from the rows.
  public func recount() throws(LedgerError) {
    try transaction {
      try statement(SQL.recount).run()
    }
  }

  /// Adds the missing jobs of queued attachments and pending deliveries.
  public func addMissingJobs() throws(LedgerError) {
    try transaction {
      try statement(SQL.addMissingAttachmentJobs).run(.integer(clock.now()))
      try statement(SQL.addMissingDeliveryJobs).run(.integer(clock.now()))
    }
  }

  /// Queues an attachment whose object is lost, as if it had just been taken in. Its earlier attempts stay on
  /// record, and events emitted before are not emitted again (see `end` in Exchange.swift).
  public func requeue(_ object: StoredObject) throws(LedgerError) {
    try transaction {
      let key = Statement.Value.integer(object.key)
      let counted = min(max(object.sizeBytes, 0), 1 << 50)
      let status =
        try statement("SELECT status FROM attachments WHERE key = ?1").first(key) { $0.text(0) } ?? ""
      try statement(SQL.requeueAttachment).run(key)
      try statement(SQL.addToCount).run(.text(status), .integer(-1), .integer(-counted))
      try statement(SQL.addToCount).run(.text("queued"), .integer(1), .integer(0))
      try statement(SQL.addRepeatedJob).run(key, .integer(clock.now()))
    }
  }
}
