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
      (stopNoteAt, isStopTold) = (0, false)
      stopUntil = environment.clock.monotonic() + Self.stopTime
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
    stopUntil = environment.clock.monotonic() + Self.stopTime
    releaseWaiting()
  }

  /// Nanoseconds that what is in hand has to end after a signal. Service managers wait longer: systemd's usual limit is 90 s.
  private static let stopTime: UInt64 = 20_000_000_000

  /// Ends the workers that are still at something once that time is over. Their work is due again, as after the end of a coordinator.
  func endOverdue() {
    guard isStopping, !isHandingOver, let stopUntil, !isStopOverdue,
      environment.clock.monotonic() >= stopUntil
    else {
      return
    }
    isStopOverdue = true
    let abandoned = pool.abandon() + pool.removeQueued { _ in true }
    if abandoned.isEmpty { return }
    observe(.stopped(inHand: abandoned.count))
    for flight in abandoned where !flight.isSettled {
      if flight.takenBack != nil { attachments.endTakenBack(flight) } else { settle(flight, .released) }
    }
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
    attachments.releaseWaiting()
    transfers?.stopAll()
  }

  /// Nanoseconds between two words on what is still in hand.
  private static let stopNoteInterval: UInt64 = 5_000_000_000

  func tellStopping() {
    let now = environment.clock.monotonic()
    guard isStopping, !flights.isEmpty, now - stopNoteAt >= Self.stopNoteInterval else { return }
    if stopUntil != nil && isStopTold { return }
    (stopNoteAt, isStopTold) = (now, true)
    let downloads = flights.values.count { $0.transfer != nil && !$0.fetch.isFetched }
    let seconds = isHandingOver ? nil : Int(Self.stopTime / 1_000_000_000)
    observe(
      .stopping(
        inHand: flights.count - downloads, with: pool.busyStages, downloads: downloads, seconds: seconds))
  }

  /// Settles a flight as released where no more is to be begun.
  func isGivenBack(_ flight: Flight) -> Bool {
    // In this order: to ask the run costs more.
    guard flight.lane.pause != nil || isStopping, flight.run.isInLine || isStopOverdue,
      flight.lane.pause != nil || flight.run.isUntouched || isStopOverdue
    else { return false }
    settle(flight, .released)
    return true
  }
}
