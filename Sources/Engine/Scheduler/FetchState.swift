import LedgerPort

/// The state of a transfer in hand.
struct FetchState {
  /// Synced, and told to the ledger.
  var progress = TransferState()
  /// Bytes in the file at the beginning of this attempt.
  var progressAtStart: Int64 = 0
  /// Bytes that the source has reported, synced or not.
  var received: Int64 = 0
  /// The begin of the current pace, in nanoseconds of the monotonic clock, and the bytes at that moment.
  var pace: (since: UInt64, bytes: Int64) = (0, 0)
  /// The source says that the content is complete.
  var isFetched = false
  /// The source has an order to end the transfer; `isStalled`: because of its silence.
  var isStopAsked = false
  var isStalled = false
  /// The time of the last word of the source, in nanoseconds of the monotonic clock.
  var heardAt: UInt64 = 0
  /// The fetched content, as far as it is known.
  var fetched = FetchedContent(size: 0, sha256: [])
  /// The header of the credential of this attempt; `nil`: no credential.
  var credentialHeader: String?

  /// Whether this attempt brought enough synced bytes. Otherwise requests for next to nothing could go on for ever.
  var hasProgressed: Bool { progress.bytes - progressAtStart >= Self.leastProgress }

  private static let leastProgress: Int64 = 64 << 10
}
