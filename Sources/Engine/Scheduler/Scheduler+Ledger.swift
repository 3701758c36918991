import Glibc
import Ledger
import Pipeline
import Platform

// What goes to the ledger and comes back.
extension Scheduler {
  /// A lease that has ended, until that is on record.
  struct PendingSettlement {
    var flight: Flight
    var ending: Settlement.Ending
    /// What to tell once it counts.
    var event: SchedulerEvent?
    /// When the lease ended, in nanoseconds of the monotonic clock.
    var since: UInt64

    var emits: Bool { if case .attachment(let ended) = ending { !ended.events.isEmpty } else { false } }
    var isEnd: Bool { if case .attachment = ending { true } else { false } }
    /// When the job is due again, where it was put off.
    var dueAt: Int64? {
      switch ending {
      case .again(_, let at, _, _, _), .putOff(_, let at, _, _), .deliveryAgain(_, let at, _): at
      default: nil
      }
    }
  }

  /// The request the ledger works on now.
  struct Underway {
    var settlements: [PendingSettlement]
    var questions: [(serial: UInt64, question: ContentQuestion)]
    /// Of the files taken in, if there are any.
    var ticket: UInt64?
  }

  /// Sends the ledger what has gathered, unless it is still at work on the last.
  func exchangeWithLedger() {
    guard underway == nil else { return }
    var request = ExchangeRequest(time: environment.clock.steady())
    let settlements = takeSettlements()
    request.settlements = settlements.map { Settlement($0.flight.lease, $0.ending) }
    request.wanted = wanted(settlements, at: request.time)
    request.pauses = pauses
    request.resumed = resumed
    let batch = intakeBatches.isEmpty ? nil : intakeBatches.removeFirst()
    request.intake = batch?.items ?? []
    let questions = awaitsLine ? [] : lookups.compactMap(question)
    request.contents = questions.map(\.question)
    if request.isEmpty { return }
    underway = Underway(
      settlements: settlements, questions: questions, ticket: batch?.ticket)
    if !awaitsLine { lookups.removeAll(keepingCapacity: true) }
    pauses.removeAll()
    resumed.removeAll()
    environment.exchange(request)
  }

  /// Takes what is to go to the ledger now. A transaction costs much the same for one result as for many, so that they
  /// gather as long as workers have enough to do.
  private func takeSettlements() -> [PendingSettlement] {
    guard let first = settlements.first else { return [] }
    let isWorthwhile =
      settlements.count >= environment.tuning.worthwhile
      || first.since + environment.tuning.gathering <= environment.clock.monotonic()
    let isIdle = flights.count - settlements.count < environment.tuning.worthwhile
    if !isWorthwhile && !isIdle && !isStopping { return [] }
    defer { settlements.removeAll(keepingCapacity: true) }
    return settlements
  }

  /// How many leases to ask for of each lane, at a time of the steady clock.
  private func wanted(_ settlements: [PendingSettlement], at time: Int64) -> [(lane: String, count: Int)] {
    // Noted, too, where there is no room to ask for it yet.
    if !intakeBatches.isEmpty { attachmentLane.addDue() }
    if settlements.contains(where: \.emits) {
      for lane in lanes.dropFirst() { lane.addDue() }
    }
    if isStopping { return [] }
    if isResident { resumeLanes(at: time) }
    let putOff = Set(settlements.lazy.filter { $0.dueAt != nil }.map(\.flight.lane.name))
    var wanted: [(lane: String, count: Int)] = []
    for lane in lanes {
      let isBlocked = suspect != nil && lane === attachmentLane
      let count = isBlocked ? 0 : lane.wish(at: time, window: window)
      if count > 0 { lane.ask(at: time) }
      // A lane that something was put off in is asked how it stands.
      if count > 0 || putOff.contains(lane.name) { wanted.append((lane.name, count)) }
    }
    return wanted
  }

  /// Milliseconds after which a resident scheduler tries a paused lane again.
  private static let pause: Int64 = 30_000

  private func resumeLanes(at time: Int64) {
    for lane in lanes {
      guard let pause = lane.pause, time - pause.since >= Self.pause else { continue }
      if lane === attachmentLane && publishing.isBehind { continue }
      lane.resume()
      resumed.append(lane.name)
      observe(.laneResumed(lane: lane.name))
    }
  }

  func take(_ reply: ExchangeReply) {
    guard let asked = underway else { return }
    underway = nil
    if let ticket = asked.ticket { observe(.takenIn(reply.intake, ticket: ticket)) }
    for (settlement, counted) in zip(asked.settlements, reply.accepted) { close(settlement, counted) }
    for standing in reply.lanes { lane(standing.name)?.learn(standing) }
    if window == 1 && asked.settlements.contains(where: { $0.isEnd }) { window = fullWindow }
    for ((serial, question), known) in zip(asked.questions, reply.contents) {
      if let flight = flights[serial] { learn(flight, question, known) }
    }
    for lease in reply.leases { accept(lease) }
  }

  /// A settlement is on record, or was refused because the lease was lost.
  private func close(_ settlement: PendingSettlement, _ counted: Bool) {
    let flight = settlement.flight
    flights[flight.serial] = nil
    if flight === suspect {
      suspect = nil
      isSuspectUnderway = false
      attachmentLane.addDue()
    }
    let lane = flight.lane
    lane.inHand -= 1
    defer {
      leaveGate(flight)
    }
    guard counted else {
      if let path = flight.run.location { publishing.release(path) }
      return observe(.staleResult)
    }
    publish(settlement)
    if let at = settlement.dueAt { lane.addScheduled(at: at) }
    if case .released = settlement.ending { lane.addDue() }
    if let event = settlement.event { observe(event) }
  }

  /// Gives an object its path, now that its attachment is on record; takes away what is not to be kept.
  private func publish(_ settlement: PendingSettlement) {
    let flight = settlement.flight
    guard let attachment = flight.attachment, flight.isStoreTouched else { return }
    guard case .attachment(let ended) = settlement.ending, let path = ended.url else {
      if let path = flight.run.location { publishing.release(path) }
      return publishing.discard(attachment.id)
    }
    if let error = publishing.publish(attachment.id, to: path, at: environment.clock.steady()) {
      pauseForStore(error)
    }
  }

  /// Objects that wait for their paths are tried again; once they have them, the lane goes on.
  func publishAgain() {
    let now = environment.clock.steady()
    if now < publishing.nextTry ?? .max { return }
    let lane = attachmentLane
    if let error = publishing.tryAgain(at: now) { return pauseForStore(error) }
    if lane.pause == nil { return }
    lane.resume()
    resumed.append(lane.name)
    observe(.laneResumed(lane: lane.name))
  }

  /// The store fails where nothing can be taken back: what is on record stays, and nothing more is begun until the objects that
  /// wait have their paths.
  private func pauseForStore(_ error: SystemError) {
    pause(
      attachmentLane,
      Reason(
        stage: "store", code: "store-failed",
        message: "\(error); what is on record waits in the store's .incoming for its path"))
  }

  /// What waits for a worker goes back to the queue: it would only meet the same fault.
  private func releaseQueued(of lane: Lane) {
    for flight in pool.takeQueued(where: { $0.lane === lane && $0.run.isInLine }) {
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
    guard let flight = suspect, !isSuspectUnderway, let attachment = flight.attachment, underway == nil,
      !flights.values.contains(where: { $0 !== flight && $0.attachment != nil })
    else { return }
    isSuspectUnderway = true
    beginLine(flight, attachment)
  }

  private func lane(of lease: Lease) -> Lane? {
    switch lease.work {
    case .attachment: attachmentLane
    case .delivery(let delivery): lane(Ledger.lane(ofChannel: delivery.channel))
    }
  }

  /// Ends a lease, once the ledger has it.
  func settle(_ flight: Flight, _ ending: Settlement.Ending, _ event: SchedulerEvent? = nil) {
    if case .putOff = ending {} else { awaitedSources[flight.lease.job] = nil }
    settlements.append(
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
    pauses.append((lane.name, reason.code, text))
    observe(.lanePaused(lane: lane.name, reason: text))
    releaseQueued(of: lane)
  }
}
