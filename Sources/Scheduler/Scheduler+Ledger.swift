import Glibc
import Ledger
import Objects
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

    var emits: Bool { if case .attachment(let ended) = ending { !ended.events.isEmpty } else { false } }
    var isEnd: Bool { if case .attachment = ending { true } else { false } }
  }

  /// The request the ledger works on now.
  struct Underway {
    var settlements: [PendingSettlement]
    var lookups: [UInt64]
    /// What was asked of each lane.
    var wanted: [(lane: String, count: Int)]
  }

  /// Sends the ledger what has gathered, unless it is still at work on the last.
  func exchangeWithLedger() {
    guard underway == nil, let ledgerThread else { return }
    var request = ExchangeRequest()
    request.settlements = settlements.map { Settlement($0.flight.lease, $0.ending) }
    request.pauses = pauses
    request.wanted = wanted()
    request.intake = intakeBatches.isEmpty ? [] : intakeBatches.removeFirst()
    let lookups = lookups.filter { flights[$0] != nil }
    request.contents = lookups.map { serial in
      let flight = flights[serial]
      return (Hexadecimal.bytes(flight?.sha256 ?? "") ?? [], flight?.size ?? 0)
    }
    if request.isEmpty { return }
    underway = Underway(settlements: settlements, lookups: lookups, wanted: request.wanted)
    settlements.removeAll(keepingCapacity: true)
    self.lookups.removeAll(keepingCapacity: true)
    pauses.removeAll()
    ledgerThread.send(request)
  }

  /// How many leases to ask for. A few at a time would cost a transaction each: it waits until a quarter of the window is
  /// free, or other results go to the ledger anyway.
  private func wanted() -> [(lane: String, count: Int)] {
    // Remembered, too, where there is no room to ask for it yet.
    if !intakeBatches.isEmpty { lanes[Ledger.attachmentLane]?.mayHaveMore = true }
    if settlements.contains(where: \.emits) {
      for name in Array(lanes.keys) where name != Ledger.attachmentLane { lanes[name]?.mayHaveMore = true }
    }
    if isStopping { return [] }
    let now = Clock.steady()
    var wanted: [(lane: String, count: Int)] = []
    for (name, lane) in lanes where lane.pausedReason == nil {
      if suspect != nil && name == Ledger.attachmentLane { continue }
      let isDue = lane.nextDue.map { $0 <= now } ?? false
      guard lane.mayHaveMore || isDue else { continue }
      let free = window - lane.inHand
      if free >= max(window / 4, 1) || (lane.inHand == 0 && free > 0) { wanted.append((name, free)) }
    }
    return wanted
  }

  func takeReply() {
    guard let reply = ledgerThread?.reply(), let asked = underway else { return }
    underway = nil
    switch reply {
    case .success(let reply): take(reply, asked)
    case .failure(let error): failure = SchedulerError(.ledger(error.code), error.description)
    }
  }

  private func take(_ reply: ExchangeReply, _ asked: Underway) {
    let taken = reply.intake
    if taken.added + taken.known > 0 || !taken.problems.isEmpty { observe(.takenIn(taken)) }
    for (settlement, counted) in zip(asked.settlements, reply.accepted) { close(settlement, counted) }
    for (lane, count) in asked.wanted {
      lanes[lane]?.mayHaveMore = false
      lanes[lane]?.nextDue = nil
      let got = reply.leases.count { self.lane(of: $0) == lane }
      if got >= count { lanes[lane]?.mayHaveMore = true }
    }
    if window == 1 && asked.settlements.contains(where: { $0.isEnd }) { window = 256 }
    if !asked.wanted.isEmpty {
      for (lane, at) in reply.nextDue { lanes[lane]?.nextDue = at }
    }
    for (serial, path) in zip(asked.lookups, reply.objects) {
      guard let flight = flights[serial] else { continue }
      flight.twin = path
      flight.isTwinKnown = true
      route(flight)
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
      lanes[Ledger.attachmentLane]?.mayHaveMore = true
    }
    let lane = lane(of: flight.lease)
    lanes[lane]?.inHand -= 1
    defer {
      unreserve(flight)
      leaveGate(flight)
    }
    guard counted else { return observe(.staleResult) }
    publish(settlement)
    switch settlement.ending {
    case .again(_, let at, _, _, _), .deliveryAgain(_, let at, _):
      let next = lanes[lane]?.nextDue ?? .max
      lanes[lane]?.nextDue = min(next, at)
    case .released: lanes[lane]?.mayHaveMore = true
    default: break
    }
    if let event = settlement.event { observe(event) }
  }

  /// Gives an object its path, now that its attachment is on record; takes away what is not to be kept.
  private func publish(_ settlement: PendingSettlement) {
    guard let publisher, let attachment = settlement.flight.attachment, settlement.flight.isStoreTouched
    else { return }
    guard case .attachment(let ended) = settlement.ending, let path = ended.url else {
      return publisher.discard(attachment.id)
    }
    do throws(SystemError) {
      try publisher.publish(attachment.id, to: path)
    } catch {
      failure = SchedulerError(
        .store, "\(error); the object waits in the store's .incoming, and the next run names it")
    }
  }

  private func unreserve(_ flight: Flight) {
    guard let path = flight.location else { return }
    reserved[path]?.remove(flight.serial)
    if reserved[path]?.isEmpty == true { reserved[path] = nil }
  }

  /// What waits for a worker goes back to the queue: it would only meet the same fault.
  private func releaseQueued(of name: String) {
    for group in groups {
      for flight in group.takeQueued(where: { lane(of: $0.lease) == name && $0.outcome == .queued }) {
        settle(flight, .released)
      }
    }
  }

  private func accept(_ lease: Lease) {
    let flight = Flight(serial: nextSerial, lease: lease)
    nextSerial += 1
    flights[flight.serial] = flight
    lanes[lane(of: lease)]?.inHand += 1
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

  func lane(of lease: Lease) -> String {
    switch lease.work {
    case .attachment: Ledger.attachmentLane
    case .delivery(let delivery): Ledger.lane(ofChannel: delivery.channel)
    }
  }

  /// Ends a lease, once the ledger has it.
  func settle(_ flight: Flight, _ ending: Settlement.Ending, _ event: SchedulerEvent? = nil) {
    settlements.append(PendingSettlement(flight: flight, ending: ending, event: event))
  }

  /// A fault of the place: the lane stops with its reason, and the job is due again as if it had not been begun.
  func pauseLane(of flight: Flight, _ reason: Reason) {
    let name = lane(of: flight.lease)
    let text = "\(reason.code): \(reason.message)"
    if lanes[name]?.pausedReason == nil {
      lanes[name]?.pausedReason = text
      pauses.append((name, reason.code, text))
      observe(.lanePaused(lane: name, reason: text))
      releaseQueued(of: name)
    }
    settle(flight, .released)
  }
}
