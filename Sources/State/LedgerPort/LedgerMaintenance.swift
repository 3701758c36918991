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
  /// Records anew by which words messages are found, where that differs from what they say.
  func mendSearch() throws(LedgerError)
  /// Seals values anew with the newest key, in one transaction: those of so many rows that follow a key. What has the newest key
  /// already stays as it is. Needs what seals.
  ///
  /// - Parameter givesUpLost: whether values stay as they are whose key is not among those given, and where that is the key of the
  ///   blind indexes, another takes its place: nothing is known again by it. Otherwise they are an error.
  func resealRows(after key: Int64, limit: Int, givesUpLost: Bool) throws(LedgerError) -> Resealed
  /// How many rows have values that are sealed with each key, by the key's id.
  func sealedRows() throws(LedgerError) -> [String: Int64]
  /// Overwrites what the file and its log may have of values that were sealed anew. False: a reader is in the way.
  func eraseReplaced() throws(LedgerError) -> Bool
  /// Queues an attachment whose object is lost, as if it had just been taken in.
  func requeue(_ object: StoredObject) throws(LedgerError)
  /// Queues what an attachment was taken out of whose content is lost, so that it is taken out again; until then it has failed.
  /// False: it was taken out of nothing that is queued or completed.
  func requeueWithParent(_ id: String) throws(LedgerError) -> Bool
  /// Queues an attachment that failed since the object that it keeps of an earlier attempt could not be read. False: it did not.
  func tryAgain(_ object: StoredObject) throws(LedgerError) -> Bool
  /// The object that an attachment keeps of an earlier attempt is lost: it is read from its source again.
  func forgetKept(_ object: StoredObject) throws(LedgerError)
}

/// What became of some rows that were to be sealed anew.
public struct Resealed: Sendable, Equatable {
  /// Rows that were.
  public var rows: Int64 = 0
  /// Rows that stay as they are, since their key is lost.
  public var lost: Int64 = 0
  /// The last that was looked at; `nil`: there are no more.
  public var last: Int64?

  public init() {}
}
