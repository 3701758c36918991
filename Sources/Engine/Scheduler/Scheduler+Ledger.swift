import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform

// What goes to the ledger and comes back.
extension Scheduler {
  /// Sends the ledger what has gathered, unless it is still at work on the last.
  func exchangeWithLedger() {
    if exchange.isUnderway && exchange.nextTry == nil { return }
    if !isStopping { resumeLanes(at: time) }
    // Noted, too, where there is no room to ask for it yet.
    if exchange.hasBatch { lanes.attachments.addDue() }
    let request = exchange.next(
      now: environment.clock.monotonic(), inHand: flights.count - publishing.settlements,
      isStopping: isStopping, deleted: { deletions.takeDone() },
      questions: { gate.nextQuestions(flights) }, wanted: { wanted($0, at: time) })
    if let request { environment.exchange(request) }
  }

  private func wanted(
    _ settlements: [PendingSettlement], at time: Int64
  ) -> [Want] {
    if settlements.contains(where: \.emits) {
      for lane in lanes.channels { lane.addDue() }
    }
    if isStopping { return [] }
    let putOff = Set(settlements.lazy.filter { $0.isPutOff }.map(\.flight.lane.name))
    return lanes.wanted(
      at: time, isBlocked: suspect != nil, putOff: putOff, awaited: awaitedSources.count
    ) { perHost in
      transferLine?.shares(perHost: perHost) ?? HostShares()
    }
  }

  /// Milliseconds after which a resident scheduler tries a paused lane again.
  private static let pauseLength: Int64 = 30_000

  private func resumeLanes(at time: Int64) {
    for lane in lanes.all {
      guard let pause = lane.pause, pause.cause == .fault, !TransferLine.conditionCodes.contains(pause.code)
      else {
        continue
      }
      if !isResident && transferLine?.triesOtherHosts(lane) != true { continue }
      let length = Connectivity.isAway(pause.code) ? transferLine?.connectivity.wait : nil
      guard time - lane.pausedAt >= length ?? Self.pauseLength else { continue }
      if lane !== lanes.attachments || !publishing.isBehind { resume(lane) }
    }
  }

  func resume(_ lane: Lane) {
    lane.resume()
    exchange.add(.lane(LaneCommand(lane.name, .resume(.fault))))
    observe(.laneResumed(lane: lane.name.description))
  }

  func take(_ reply: ExchangeReply) {
    guard let sent = exchange.answered() else { return }
    deletions.add(reply.objectsToDelete)
    if let (commands, ticket) = sent.batch {
      let results = Array(reply.results.prefix(commands.count))
      observe(.answered(results, ticket: ticket))
      follow(commands, results)
      if commands.contains(where: TransferWorker.isUrgent) { transferLine?.makeWayForUrgent() }
    }
    for (settlement, outcome) in zip(sent.settlements, reply.settled) { take(settlement, outcome) }
    for state in reply.lanes {
      guard let lane = lanes[state.name] else { continue }
      lane.learn(state, at: time)
      followPerson(lane, state.pause, at: time)
    }
    for ((serial, question), known) in zip(sent.questions, reply.contents) {
      guard let flight = flights[serial], flight.isInLine else { continue }
      gate.learn(flight, question, known)
      route(flight)
    }
    for key in reply.unwanted { transferLine?.stop(key) }
    for change in reply.priorities { transferLine?.prioritize(change) }
    transferLine?.haveNoFiles(reply.filesToDelete)
    // Before the leases: the key of a transfer that is gone may be another's by now.
    dropFiles(
      reply.filesToDelete.map(environment.downloads.file)
        + reply.uploadsToDelete.map { "\(environment.uploads)/\($0)" })
    for lease in reply.leases { accept(lease) }
  }

  /// The ledger failed. What was sent is kept, and sent again; unless that is of no use.
  func take(_ error: LedgerError) throws(SchedulerError) {
    let patience = isResident && !isStopping ? UInt64.max : Self.ledgerPatience
    let (again, isNew) = exchange.failed(
      error, now: environment.clock.monotonic(), patience: patience, waitsForRoom: isResident)
    guard again else { throw SchedulerError(error) }
    if exchange.isOutOfRoom {
      for ticket in exchange.takeOutBatches() { observe(.noRoom(ticket: ticket)) }
    }
    if !isNew { return }
    observe(
      .ledgerAway(
        error.code == .full
          ? "there is no room on the disk of the ledger; nothing is lost, and it goes on once there is some"
          : "\(error); nothing is lost, and it is tried again"))
  }

  /// What a client wants while the disk of the ledger is full: what makes room is tried.
  func takeWithoutRoom(_ batch: Intake.Batch) {
    var probe = Exchange()
    probe.commands = batch.commands
    if probe.makesRoom && exchange.addToMakeRoom(batch) { return }
    observe(.noRoom(ticket: batch.ticket))
  }

  /// Nanoseconds for which a run that is to end goes on trying to reach the ledger.
  private static let ledgerPatience: UInt64 = 5_000_000_000

  /// Its pause is on its way to the ledger.
  private func isPausing(_ lane: Lane) -> Bool {
    lane.pause?.cause == .hand && exchange.isToPause(lane.name)
  }

  /// A lane stands still for as long as a person wants it to.
  private func followPerson(_ lane: Lane, _ pause: Pause?, at time: Int64) {
    if let pause, pause.cause != .fault {
      if lane.needsPerson { return }
      lane.stop(pause, at: time)
      observe(.lanePaused(lane: lane.name.description, reason: pause.reason))
      releaseQueued(of: lane)
    } else if lane.needsPerson, !isPausing(lane) {
      lane.resume()
      observe(.laneResumed(lane: lane.name.description))
      if lane === lanes.downloads { transferLine?.readCredentialsAgain() }
      // A fault that came before may still be there.
      if lane === lanes.attachments && publishing.isBehind { pauseForStore() }
    }
  }

  /// What the ledger made of a settlement.
  private func take(_ settlement: PendingSettlement, _ outcome: SettlementOutcome) {
    let flight = settlement.flight
    if case .tooManyChildren(let code, let message) = outcome {
      return refuseChildren(of: flight, code, message)
    }
    if outcome != .counted {
      if let path = flight.run.location { publishing.release(path) }
      if outcome == .leaseLost { return close(lost: flight) }
      // It is due again, and will find the path taken.
      if outcome == .pathTaken, let path = flight.run.location {
        publishing.note(path, isTakenFor: flight.run.sha256)
      }
      discardStaged(flight)
      flight.lane.addDue()
      return close(flight, nil)
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

  /// Its lease was lost: another has it, or there is nothing of it any more.
  private func close(lost flight: Flight) {
    if flight.isGone {
      discardStaged(flight)
      return close(flight, nil)
    }
    close(flight, .staleResult)
  }

  private func close(_ settlement: PendingSettlement) {
    if case .released = settlement.ending { settlement.flight.lane.addDue() }
    close(settlement.flight, settlement.event)
    if case .ended(let record)? = settlement.event, record.outcome.status == .completed {
      dropUpload(record.source)
    }
  }

  private func close(_ flight: Flight, _ event: SchedulerEvent?) {
    flights[flight.serial] = nil
    if flight === suspect {
      suspect = nil
      isSuspectUnderway = false
      lanes.attachments.addDue()
    }
    flight.lane.leave(of: flight.lease.turn)
    if let event { observe(event) }
    leaveGate(flight)
  }

  /// Has sources opened, and objects of attachments that are on record renamed to their paths.
  func askForFiles() {
    let next = sources.nextBatch(at: environment.clock.monotonic())
    if !next.isEmpty { environment.open(next) }
    if let batch = publishing.nextBatch(at: time) { environment.publish(batch) }
    if let batch = staging.nextBatch() { environment.stage(batch) }
    deleteObjects()
  }

  func takePublished(_ results: [SystemError?]) throws(SchedulerError) {
    // Nothing is told of an object that may lie elsewhere.
    if results.contains(where: { $0 != nil }) { try checkPlaces() }
    let wasBehind = publishing.isBehind
    let (ended, failure) = publishing.take(results, at: time)
    for settlement in ended { close(settlement) }
    if let failure {
      pauseForStore(failure)
    } else if wasBehind && !publishing.isBehind && lanes.attachments.pause != nil {
      resume(lanes.attachments)
    }
  }

  /// An object of an earlier run has not got its path. Nothing is begun before it has: another attachment could take it.
  func waitForPath(_ object: StagedObject, _ error: SystemError) {
    if error.code == EEXIST {
      // A file that Sluice did not put there. To wait is of no use.
      let text =
        "\(error); the object of attachment \(object.name.attachmentId) waits in the store's .incoming; take that file away"
      return observe(.problem(text))
    }
    publishing.wait(for: object, at: time)
    pauseForStore(error)
  }

  private func pauseForStore() {
    let reason = Reason(
      stage: "store", code: "store-failed",
      message: "what is on record waits in the store's .incoming for its path, and the store failed")
    pause(lanes.attachments, reason)
  }

  /// The store fails where nothing can be taken back: what is on record stays, and nothing more is begun until the objects that
  /// wait have their paths.
  private func pauseForStore(_ error: SystemError) {
    pause(
      lanes.attachments,
      Reason(
        stage: "store", code: "store-failed",
        message: "\(error); what is on record waits in the store's .incoming for its path"))
  }

  /// What waits for a worker goes back to the queue: it would only meet the same fault.
  private func releaseQueued(of lane: Lane) {
    if lane === lanes.downloads {
      // Without a network, those under way may still hear from a host, which ends the pause.
      if Connectivity.isAway(lane.pause?.code ?? "") {
        transferLine?.releaseWaiting()
      } else {
        transferLine?.stopAll()
      }
      return
    }
    for flight in pool.removeQueued(where: { $0.lane === lane && $0.run.isInLine }) {
      settle(flight, .released)
    }
  }

  private func accept(_ lease: Lease) {
    guard let lane = lane(of: lease) else { return }
    let flight = Flight(serial: nextSerial, lease: lease, lane: lane, plan)
    nextSerial += 1
    flights[flight.serial] = flight
    lane.take(of: lease.turn)
    switch lease.work {
    case .attachment where lease.cancellation != nil: beginCancelled(flight)
    case .attachment(let attachment) where attachment.concluded != nil: conclude(flight, attachment)
    case .attachment where lease.isSolitary: suspect(flight)
    case .attachment(let attachment): beginLine(flight, attachment)
    case .delivery(let delivery): beginDelivery(flight, delivery)
    case .transfer(let transfer):
      guard let transferLine else { return settle(flight, .released) }
      transferLine.begin(flight, transfer)
    }
  }

  /// A person has taken it back before it was begun: only the stages at the end are told.
  private func beginCancelled(_ flight: Flight) {
    flight.run.cancel(Self.cancellation(flight.lease.cancellation ?? ""))
    route(flight)
  }

  /// An attachment that may be what ends coordinators waits until it is the only one in hand.
  private func suspect(_ flight: Flight) {
    if suspect == nil { suspect = flight } else { settle(flight, .released) }
  }

  /// Begins the suspect once everything else that was in hand is on record.
  func beginSuspect() {
    guard let flight = suspect, !isSuspectUnderway, let attachment = flight.attachment, !exchange.isUnderway,
      !flights.values.contains(where: { $0 !== flight && $0.attachment != nil })
    else { return }
    isSuspectUnderway = true
    beginLine(flight, attachment)
  }

  private func lane(of lease: Lease) -> Lane? {
    switch lease.work {
    case .attachment: lanes.attachments
    case .delivery(let delivery): lanes[.channel(delivery.channel)]
    case .transfer: lanes.downloads
    }
  }

  /// Ends a lease, once the ledger has it.
  func settle(_ flight: Flight, _ ending: Settlement.Ending, _ event: SchedulerEvent? = nil) {
    if case .putOff = ending {} else { awaitedSources[flight.lease.job] = nil }
    flight.isSettled = true
    exchange.settle(
      PendingSettlement(flight: flight, ending: ending, event: event, since: environment.clock.monotonic()))
  }

  /// A fault of the place: the lane stops with its reason, and the job is due again as if it had not been begun.
  func pauseLane(of flight: Flight, _ reason: Reason) {
    pause(flight.lane, reason)
    settle(flight, .released)
  }

  /// - Parameter credential: what was refused; `nil`: that is not why.
  func pause(
    _ lane: Lane, _ reason: Reason, _ cause: Pause.Cause = .fault, credential: Credential? = nil
  ) {
    if lane.pause != nil { return }
    let text = "\(reason.code): \(reason.message)"
    let pause = Pause(cause, code: reason.code, reason: text, owner: credential?.owner)
    lane.stop(pause, at: time)
    exchange.add(.lane(LaneCommand(lane.name, .pause(pause))))
    // In the same transaction.
    if let credential, credential.on401 == .signOut, let owner = credential.owner {
      exchange.add(.token(.signOut(owner)))
    }
    observe(.lanePaused(lane: lane.name.description, reason: text))
    releaseQueued(of: lane)
  }
}
