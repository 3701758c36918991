import Glibc
import Ledger
import Objects
import Pipeline
import Platform

// What goes to the ledger and comes back.
extension Scheduler {
  /// Sends the ledger what has gathered, unless it is still at work on the last.
  func exchangeWithLedger() {
    if exchange.isUnderway { return }
    let time = environment.clock.steady()
    if isResident && !isStopping { resumeLanes(at: time) }
    // Noted, too, where there is no room to ask for it yet.
    if exchange.hasBatch { lanes.attachments.addDue() }
    let request = exchange.next(
      at: time, now: environment.clock.monotonic(), inHand: flights.count - publishing.settlements,
      isStopping: isStopping,
      questions: { gate.nextQuestions(flights) }, wanted: { wanted($0, at: time) })
    if let request { environment.exchange(request) }
  }

  private func wanted(
    _ settlements: [PendingSettlement], at time: Int64
  ) -> [(lane: String, count: Int)] {
    if settlements.contains(where: \.emits) {
      for lane in lanes.channels { lane.addDue() }
    }
    if isStopping { return [] }
    let putOff = Set(settlements.lazy.filter { $0.isPutOff }.map(\.flight.lane.name))
    return lanes.wanted(at: time, isBlocked: suspect != nil, putOff: putOff)
  }

  /// Milliseconds after which a resident scheduler tries a paused lane again.
  private static let pauseLength: Int64 = 30_000

  private func resumeLanes(at time: Int64) {
    for lane in lanes.all {
      guard let pause = lane.pause, time - pause.since >= Self.pauseLength else { continue }
      if lane !== lanes.attachments || !publishing.isBehind { resume(lane) }
    }
  }

  private func resume(_ lane: Lane) {
    lane.resume()
    exchange.resume(lane.name)
    observe(.laneResumed(lane: lane.name))
  }

  func take(_ reply: ExchangeReply) {
    guard let sent = exchange.answered() else { return }
    if let ticket = sent.ticket { observe(.takenIn(reply.intake, ticket: ticket)) }
    for (settlement, isCounted) in zip(sent.settlements, reply.accepted) {
      take(settlement, isCounted: isCounted)
    }
    for standing in reply.lanes { lanes[standing.name]?.learn(standing) }
    if sent.settlements.contains(where: \.isEnd) { lanes.openWindow() }
    for ((serial, question), known) in zip(sent.questions, reply.contents) {
      guard let flight = flights[serial] else { continue }
      gate.learn(flight, question, known)
      route(flight)
    }
    for lease in reply.leases { accept(lease) }
  }

  /// A settlement is on record, or was refused because the lease was lost.
  private func take(_ settlement: PendingSettlement, isCounted: Bool) {
    let flight = settlement.flight
    guard isCounted else {
      if let path = flight.run.location { publishing.release(path) }
      return close(flight, .staleResult)
    }
    if flight.isStoreTouched, let id = flight.attachment?.origin.id {
      if case .attachment(let ended) = settlement.ending, let path = ended.outcome.url {
        return publishing.publish(StagedObject(id: id, path: path), ending: settlement)
      }
      if let path = flight.run.location { publishing.release(path) }
      publishing.discard(id)
    }
    close(settlement)
  }

  private func close(_ settlement: PendingSettlement) {
    if case .released = settlement.ending { settlement.flight.lane.addDue() }
    close(settlement.flight, settlement.event)
  }

  private func close(_ flight: Flight, _ event: SchedulerEvent?) {
    flights[flight.serial] = nil
    if flight === suspect {
      suspect = nil
      isSuspectUnderway = false
      lanes.attachments.addDue()
    }
    flight.lane.inHand -= 1
    if let event { observe(event) }
    leaveGate(flight)
  }

  /// Has sources opened, and objects of attachments that are on record renamed to their paths.
  func askForFiles() {
    let next = sources.nextBatch(at: environment.clock.monotonic())
    if !next.isEmpty { environment.open(next) }
    if let batch = publishing.nextBatch(at: environment.clock.steady()) { environment.publish(batch) }
  }

  func takePublished(_ results: [SystemError?]) throws(SchedulerError) {
    // Nothing is told of an object that may lie elsewhere.
    if results.contains(where: { $0 != nil }) { try checkPlaces() }
    let wasBehind = publishing.isBehind
    let (ended, failure) = publishing.take(results, at: environment.clock.steady())
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
      // Somebody else's file. To wait is of no use.
      let text =
        "\(error); the object of attachment \(object.id) waits in the store's .incoming; take that file away"
      return observe(.problem(text))
    }
    publishing.wait(for: object, at: environment.clock.steady())
    pauseForStore(error)
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
    for flight in pool.removeQueued(where: { $0.lane === lane && $0.run.isInLine }) {
      settle(flight, .released)
    }
  }

  private func accept(_ lease: Lease) {
    guard let lane = lane(of: lease) else { return }
    let flight = Flight(serial: nextSerial, lease: lease, lane: lane, plan)
    nextSerial += 1
    flights[flight.serial] = flight
    lane.inHand += 1
    switch lease.work {
    case .attachment where lease.suspicions >= Ledger.suspicionsBeforeSolitude: suspect(flight)
    case .attachment(let attachment): beginLine(flight, attachment)
    case .delivery(let delivery): beginDelivery(flight, delivery)
    }
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
    case .delivery(let delivery): lanes[Ledger.lane(ofChannel: delivery.channel)]
    }
  }

  /// Ends a lease, once the ledger has it.
  func settle(_ flight: Flight, _ ending: Settlement.Ending, _ event: SchedulerEvent? = nil) {
    if case .putOff = ending {} else { awaitedSources[flight.lease.job] = nil }
    exchange.settle(
      PendingSettlement(flight: flight, ending: ending, event: event, since: environment.clock.monotonic()))
  }

  /// A fault of the place: the lane stops with its reason, and the job is due again as if it had not been begun.
  func pauseLane(of flight: Flight, _ reason: Reason) {
    pause(flight.lane, reason)
    settle(flight, .released)
  }

  private func pause(_ lane: Lane, _ reason: Reason) {
    if lane.pause != nil { return }
    let text = "\(reason.code): \(reason.message)"
    lane.stop(.init(reason: text, since: environment.clock.steady()))
    exchange.pause(lane.name, code: reason.code, reason: text)
    observe(.lanePaused(lane: lane.name, reason: text))
    releaseQueued(of: lane)
  }
}
