import Platform
import SQLite

// What can be put right in a ledger that is whole as a file. Whoever does it holds the home's lock.
extension Ledger {
  /// Makes the counts those of the rows.
  public func recount() throws(LedgerError) {
    try transaction {
      try statement(SQL.recount).run()
    }
  }

  /// Gives a job to every attachment that is queued and every delivery that is pending without one.
  public func addMissingJobs() throws(LedgerError) {
    try transaction {
      try statement(SQL.addMissingAttachmentJobs).run(.integer(clock.now()))
      try statement(SQL.addMissingDeliveryJobs).run(.integer(clock.now()))
    }
  }

  /// Queues an attachment whose object is lost as if it had just been taken in. Its earlier attempts stay on record, and
  /// what people were told of it is not told again (see `end` in Exchange.swift).
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
