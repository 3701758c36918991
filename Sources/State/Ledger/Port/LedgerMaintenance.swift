/// Checks and repairs of a ledger. Repairs need the right to write.
public protocol LedgerMaintenance: LedgerQueries {
  /// Checks that the file is intact. Damage of this kind may be anywhere, so that nothing in the ledger can be trusted then.
  func inspectFile(_ report: (Finding) -> Void) throws(LedgerError)
  /// Checks that what is on record agrees with itself.
  func inspectRows(_ report: (Finding) -> Void) throws(LedgerError)
  /// Whether bytes of deleted attachments may still be in the ledger's files.
  func isErasing() throws(LedgerError) -> Bool
  /// Computes anew what is counted: attachments by status, and uses of objects' paths.
  func recount() throws(LedgerError)
  /// Adds the missing jobs of queued attachments and pending deliveries, and takes away those of ended ones.
  func mendJobs() throws(LedgerError)
  /// Queues an attachment whose object is lost, as if it had just been taken in.
  func requeue(_ object: StoredObject) throws(LedgerError)
}
