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
      now: environment.clock.monotonic(), inHand: flights.count - attachments.publishing.settlements,
      isStopping: isStopping, deleted: { attachments.deletions.takeDone() },
      questions: { attachments.gate.nextQuestions(flights) }, wanted: { wanted($0, at: time) })
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
      at: time, isBlocked: attachments.isBlocked, putOff: putOff, awaited: attachments.awaitedSources.count
    ) { perHost in
      transfers?.shares(perHost: perHost) ?? HostShares()
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
      if !isResident && transfers?.triesOtherHosts(lane) != true { continue }
      let length = Connectivity.isAway(pause.code) ? transfers?.connectivity.wait : nil
      guard time - lane.pausedAt >= length ?? Self.pauseLength else { continue }
      if lane !== lanes.attachments || !attachments.publishing.isBehind { resume(lane) }
    }
  }

  func resume(_ lane: Lane) {
    lane.resume()
    exchange.add(.lane(LaneCommand(lane.name, .resume(.fault))))
    observe(.laneResumed(lane: lane.name.description))
  }

  func take(_ reply: ExchangeReply) {
    guard let sent = exchange.answered() else { return }
    attachments.deletions.add(reply.objectsToDelete)
    if let (commands, ticket) = sent.batch {
      let results = Array(reply.results.prefix(commands.count))
      observe(.answered(results, ticket: ticket))
      follow(commands, results, deleted: Set(reply.deletedAttachments))
      if commands.contains(where: TransferWorker.isUrgent) { transfers?.makeWayForUrgent() }
    }
    for (settlement, outcome) in zip(sent.settlements, reply.settled) {
      line(of: settlement.flight)?.settled(settlement, outcome)
    }
    for state in reply.lanes {
      guard let lane = lanes[state.name] else { continue }
      lane.learn(state, at: time)
      followPerson(lane, state.pause, at: time)
    }
    for ((serial, question), known) in zip(sent.questions, reply.contents) {
      guard let flight = flights[serial], flight.isInLine else { continue }
      attachments.learn(flight, question, known)
    }
    for key in reply.unwanted { transfers?.stop(key) }
    for change in reply.priorities { transfers?.prioritize(change) }
    transfers?.haveNoFiles(reply.filesToDelete)
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
      if lane === lanes.downloads { transfers?.readCredentialsAgain() }
      // A fault that came before may still be there.
      if lane === lanes.attachments && attachments.publishing.isBehind { attachments.pauseForStore() }
    }
  }

  /// A lease has ended, and that is on record, or it does not count.
  func close(_ settlement: PendingSettlement, _ outcome: SettlementOutcome) {
    let flight = settlement.flight
    var event: SchedulerEvent?
    switch outcome {
    case .counted:
      event = settlement.event
      if case .released = settlement.ending { flight.lane.addDue() }
    // Another has it; or there is nothing of it any more.
    case .leaseLost: event = flight.isGone ? nil : .staleResult
    case .conflict, .pathTaken, .tooManyChildren: flight.lane.addDue()
    }
    flights[flight.serial] = nil
    flight.lane.leave(of: flight.lease.turn)
    if let event { observe(event) }
    line(of: flight)?.left(flight)
  }

  /// Has sources opened, and objects of attachments that are on record renamed to their paths.
  func askForFiles() {
    let next = sources.nextBatch(at: environment.clock.monotonic())
    if !next.isEmpty { environment.open(next) }
    attachments.useStore()
  }

  /// What waits for a worker goes back to the queue: it would only meet the same fault.
  private func releaseQueued(of lane: Lane) {
    if lane === lanes.downloads {
      // Without a network, those under way may still hear from a host, which ends the pause.
      if Connectivity.isAway(lane.pause?.code ?? "") {
        transfers?.releaseWaiting()
      } else {
        transfers?.stopAll()
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
    if let line = line(of: flight) { line.begin(flight) } else { settle(flight, .released) }
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
    if case .putOff = ending {} else { attachments.awaitedSources[flight.lease.job] = nil }
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
