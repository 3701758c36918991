import Glibc
import Pipeline

// The end of a run that a signal asks for, or that another scheduler is to go on with.
extension Scheduler {
  /// Lets what is in hand end. What was taken from the intake goes on record before.
  func handOver() {
    isStopping = true
    isHandingOver = true
    releaseWaiting()
  }

  /// The first signal lets what is in hand end; the second ends the process, which loses nothing.
  func takeSignal(_ number: Int32) {
    if number == SIGHUP && isResident { return observe(.hangup) }
    if isHandingOver {
      // It is the first, and what is in hand ends already.
      isHandingOver = false
      return exchange.dropFiles()
    }
    if isStopping {
      environment.close(true)
      _exit(128 + number)
    }
    isStopping = true
    isIntakeCut = !isIntakeOver || exchange.hasBatch
    isIntakeOver = true
    exchange.dropFiles()
    releaseWaiting()
  }

  /// Gives back what no stage has begun with: it is due again at once, for the next coordinator. The rest goes on to its end.
  private func releaseWaiting() {
    // What was fetched is hashed: or it would be fetched again.
    for flight in pool.removeQueued(where: { $0.run.isInLine && $0.transfer == nil }) {
      settle(flight, .released)
    }
    for serial in sources.dropAll() {
      if let flight = flights[serial] { settle(flight, .released) }
    }
    for flight in unmeasured { settle(flight, .released) }
    unmeasured.removeAll()
    stopTransfers()
    if let suspect, !isSuspectUnderway { settle(suspect, .released) }
  }

  /// Nanoseconds between two words on what is still in hand.
  private static let stopNoteInterval: UInt64 = 5_000_000_000

  func tellStopping() {
    let now = environment.clock.monotonic()
    guard isStopping, !flights.isEmpty, now - stopNoteAt >= Self.stopNoteInterval else { return }
    stopNoteAt = now
    let downloads = flights.values.count { $0.transfer != nil && !$0.isFetched }
    observe(.stopping(inHand: flights.count - downloads, with: pool.busyStages, downloads: downloads))
  }
}
