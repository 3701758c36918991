import LedgerPort
import Pipeline

// What a person cancels or deletes while it is in hand.
extension AttachmentLine {
  /// Takes an attachment out of the line, and one that was deleted or is wanted again from the stages at the end, too. Where a
  /// worker has it, that is told, and has some time to let go.
  func takeBack(_ flight: Flight, _ what: Flight.TakenBack) {
    switch what {
    case .cancelled: if !flight.run.isInLine { return }
    case .retried: if !flight.isCancelled { return }
    case .deleted: flight.isGone = true
    }
    if flight.isSettled { return }
    flight.takenBack = what
    if !pool.takeBack(flight) { return }
    forgetWaiting(flight)
    endTakenBack(flight)
  }

  /// Ends what was taken back, once no worker has it.
  func endTakenBack(_ flight: Flight) {
    let what = flight.takenBack
    flight.takenBack = nil
    switch what {
    case .cancelled(let reason)?:
      flight.run.cancel(Self.cancellation(reason))
      route(flight)
    // It is due again, or the ledger has nothing of it any more.
    case .retried?, .deleted?, nil: loop.settle(flight, .released)
    }
  }

  /// Attachments were deleted.
  func forget(_ ids: Set<String>) {
    if ids.isEmpty { return }
    for id in ids.sorted() { publishing.forget(id) }
    awaitedSources = awaitedSources.filter { !ids.contains($0.value.attachmentId) }
  }

  static func cancellation(_ message: String) -> Reason {
    Reason(stage: "sluice", code: "cancelled", message: message)
  }
}

extension Flight {
  /// It is to end as cancelled.
  fileprivate var isCancelled: Bool {
    if case .cancelled? = takenBack { return true }
    return run.outcome == .cancelled
  }
}
