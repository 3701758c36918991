import LedgerPort
import Pipeline
import Platform

// What a person cancels or deletes while it is in hand.
extension Scheduler {
  /// Follows commands that are on record, as far as they are about something in hand.
  func follow(_ commands: [Command], _ results: [CommandResult]) {
    var takenBack: [String: Flight.TakenBack] = [:]
    var dropped: Set<Int64> = []
    for (command, result) in zip(commands, results) where result == .done(hasChanged: true) {
      switch command {
      case .attachment(let command):
        switch command.action {
        case .cancel(let reason): takenBack[command.attachmentId] = .cancelled(reason)
        case .retry, .reprocess: takenBack[command.attachmentId] = .retried
        case .delete: takenBack[command.attachmentId] = .deleted
        case .prioritize: break
        }
      case .delivery(let command) where command.action == .drop: dropped.insert(command.key)
      case .lane(let command): if case .resume = command.action { followResume(command.lane) }
      case .delivery, .takeIn, .refresh, .token, .upload, .record: break
      }
    }
    if takenBack.isEmpty && dropped.isEmpty { return }
    let deleted = Set(
      takenBack.lazy.filter { if case .deleted = $0.value { true } else { false } }.map(\.key))
    for flight in flights.values.sorted(by: { $0.serial < $1.serial }) {
      if let delivery = flight.delivery {
        if dropped.contains(delivery.key) || deleted.contains(delivery.attachmentId) { giveUp(flight) }
      } else if let id = flight.attachment?.origin.id, let what = takenBack[id] {
        takeBack(flight, what)
      }
    }
    for id in deleted.sorted() { publishing.forget(id) }
    if !deleted.isEmpty {
      awaitedSources = awaitedSources.filter { !deleted.contains($0.value.attachmentId) }
    }
  }

  /// A person lets a lane go on that a fault had stopped: it is tried at once.
  private func followResume(_ name: LaneName) {
    guard let lane = lanes[name], lane.pause?.cause == .fault,
      lane !== lanes.attachments || !publishing.isBehind
    else { return }
    lane.resume()
    observe(.laneResumed(lane: name.description))
  }

  /// Takes a delivery out of its queue. One that a channel has goes to its end, and its result is dropped.
  private func giveUp(_ flight: Flight) {
    flight.isGone = true
    if !flight.isSettled, !pool.removeQueued(where: { $0 === flight }).isEmpty { settle(flight, .released) }
  }

  /// Takes an attachment out of the line, and one that was deleted or is wanted again from the stages at the end, too. Where a
  /// worker has it, that is told, and has some time to let go.
  private func takeBack(_ flight: Flight, _ what: Flight.TakenBack) {
    switch what {
    case .cancelled: if !flight.run.isInLine { return }
    case .retried: if !flight.isCancelled { return }
    case .deleted: flight.isGone = true
    }
    if flight.isSettled { return }
    flight.takenBack = what
    if !pool.takeBack(flight) { return }
    unmeasured.removeAll { $0 === flight }
    sources.drop(flight.serial)
    if flight === suspect { isSuspectUnderway = true }
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
    case .retried?, .deleted?, nil: settle(flight, .released)
    }
  }

  static func cancellation(_ message: String) -> Reason {
    Reason(stage: "sluice", code: "cancelled", message: message)
  }

  // MARK: Objects of what was deleted

  /// Has the objects deleted that no attachment has any more.
  func deleteObjects() {
    let batch = deletions.nextBatch(at: time) { path in
      publishing.isOnItsWay(path)
        || flights.values.contains { $0.twin == path || $0.run.location == path }
    }
    if let batch { environment.delete(batch) }
  }

  func takeDeleted(_ results: [SystemError?]) {
    if let error = deletions.take(results, at: time) {
      observe(.problem("\(error); the objects of deleted attachments wait until that is possible"))
    }
  }
}

extension Flight {
  /// It is to end as cancelled.
  fileprivate var isCancelled: Bool {
    if case .cancelled? = takenBack { return true }
    return run.outcome == .cancelled
  }
}
