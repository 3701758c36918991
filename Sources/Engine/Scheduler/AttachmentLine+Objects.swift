import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform

// Publishes the objects of attachments, and deletes the objects of deleted attachments.
extension AttachmentLine {
  func settled(_ settlement: PendingSettlement, _ outcome: SettlementOutcome) {
    let flight = settlement.flight
    if case .tooManyChildren(let code, let message) = outcome {
      return refuseChildren(of: flight, code, message)
    }
    if outcome != .counted {
      if let path = flight.run.location {
        publishing.release(path)
        // It is due again, and will find the path taken.
        if outcome == .pathTaken { publishing.note(path, isTakenFor: flight.run.sha256) }
      }
      // After a lost lease, the staged files may belong to another attempt.
      if outcome != .leaseLost || flight.isGone { discardStaged(flight) }
      return loop.close(settlement, outcome)
    }
    var hasObject = false
    if let ended = settlement.ending.attachment {
      // They are on record, and their files are theirs.
      if !ended.children.isEmpty { flight.children = [] }
      var objects = stagedObjects(of: flight, ended)
      hasObject = ended.outcome.url != nil
      dropAdopted(flight)
      if hasObject || !objects.isEmpty, let last = objects.popLast() {
        for object in objects { publishing.publish(object, ending: nil) }
        return publishing.publish(last, ending: settlement)
      }
    }
    if flight.isStoreTouched && !hasObject, let path = flight.run.location { publishing.release(path) }
    if !hasObject { discardStaged(flight) }
    close(settlement)
  }

  private func close(_ settlement: PendingSettlement) {
    loop.close(settlement, .counted)
    if case .ended(let record)? = settlement.event, record.outcome.status == .completed {
      loop.dropUpload(record.source)
    }
  }

  /// Has pieces written, objects renamed to their paths, and objects deleted that no attachment has any more.
  func useStore() {
    if let batch = publishing.nextBatch(at: loop.time) { environment.publish(batch) }
    if let batch = staging.nextBatch() { environment.stage(batch) }
    deleteObjects()
  }

  func takePublished(_ results: [SystemError?]) throws(SchedulerError) {
    // Nothing is told of an object that may lie elsewhere.
    if results.contains(where: { $0 != nil }) { try loop.checkPlaces() }
    let wasBehind = publishing.isBehind
    let (ended, failure) = publishing.take(results, at: loop.time)
    for settlement in ended { close(settlement) }
    if let failure {
      pauseForStore(failure)
    } else if wasBehind && !publishing.isBehind && loop.lanes.attachments.pause != nil {
      loop.resume(loop.lanes.attachments)
    }
  }

  /// Takes over what an earlier run has left in the store.
  ///
  /// - Returns: the objects without a path, with the errors.
  func recover(_ ledger: any LedgerQueries) throws -> [(object: StagedObject, error: SystemError)] {
    if plan.stages.contains(where: { $0.description.capability == .store }) {
      try environment.store.check(ledger)
    }
    let unpublished = try environment.store.recover(ledger)
    deletions.add(try ledger.objectsToDelete(limit: 1000))
    return unpublished
  }

  /// An object of an earlier run has not got its path. Nothing is begun before it has: another attachment could take it.
  func waitForPath(_ object: StagedObject, _ error: SystemError) {
    if error.code == EEXIST {
      // A file that Sluice did not put there. To wait is of no use.
      let text =
        "\(error); the object of attachment \(object.name.attachmentId) waits in the store's .incoming; take that file away"
      return loop.observe(.problem(text))
    }
    publishing.wait(for: object, at: loop.time)
    pauseForStore(error)
  }

  /// The store fails where nothing can be taken back: what is on record stays, and nothing more is begun until the objects that
  /// wait have their paths.
  func pauseForStore(_ error: SystemError? = nil) {
    let waits = "what is on record waits in the store's .incoming for its path"
    let reason = Reason(
      stage: "store", code: "store-failed",
      message: error.map { "\($0); \(waits)" } ?? "\(waits), and the store failed")
    loop.pause(loop.lanes.attachments, reason)
  }

  // MARK: Objects of deleted attachments

  private func deleteObjects() {
    let batch = deletions.nextBatch(at: loop.time) { path in
      publishing.isOnItsWay(path)
        || loop.flights.values.contains { $0.twin == path || $0.run.location == path }
    }
    if let batch { environment.delete(batch) }
  }

  func takeDeleted(_ results: [SystemError?]) {
    if let error = deletions.take(results, at: loop.time) {
      loop.observe(.problem("\(error); the objects of deleted attachments wait until that is possible"))
    }
  }
}
