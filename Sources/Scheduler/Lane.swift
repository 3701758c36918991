/// What a scheduler knows of a lane's queue.
final class Lane {
  /// As the ledger has it.
  let name: String
  /// Leases in hand.
  var inHand = 0
  /// The last claim got all it asked for, or something was added since.
  var mayHaveMore = true
  /// When the next scheduled job is due.
  var nextDue: Int64?
  var pausedReason: String?
  /// When it was paused, in nanoseconds of the monotonic clock.
  var pausedSince: UInt64 = 0

  init(_ name: String) {
    self.name = name
  }
}
