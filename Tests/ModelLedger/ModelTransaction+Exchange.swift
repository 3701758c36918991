import LedgerPort
import LedgerRules
import Pipeline
import Platform

extension ModelTransaction {
  /// Cannot fail: it is done as a whole.
  mutating func perform(_ exchange: Exchange, _ token: Token, at now: Int64) -> ExchangeReply {
    var tally = ExchangeTally(
      now: now, time: now, token: token, number: rows.position.number + 1, turns: exchange.turns)
    var reply = ExchangeReply()
    for path in exchange.deletedObjects where rows.names[path]?.uses == 0 { rows.names[path] = nil }
    reply.results = apply(exchange.commands, &tally)
    refillWindows(&tally)
    for checkpoint in exchange.checkpoints { take(checkpoint) }
    reply.settled = settle(exchange.settlements, &tally)
    if tally.hasUnused || !exchange.deletedObjects.isEmpty {
      reply.objectsToDelete = Array(rows.objectsToDelete.prefix(1000))
    }
    for want in exchange.wanted {
      if rows.lanes[want.lane] == nil { rows.lanes[want.lane] = [] }
      wake(want.lane, now)
      let leases = claim(want, &tally)
      reply.leases += leases
      var state = LaneState(want.lane)
      state.granted = leases.count
      reply.lanes.append(state)
    }
    for lane in tally.lanes where !reply.lanes.contains(where: { $0.name == lane }) {
      reply.lanes.append(LaneState(lane))
    }
    for index in reply.lanes.indices {
      let counts = index < exchange.wanted.count ? exchange.wanted[index].countsWaiting : 0
      rows.stand(&reply.lanes[index], countsWaiting: counts, now)
    }
    reply.contents = exchange.contents.map { rows.known($0) }
    (reply.filesToDelete, reply.unwanted) = (tally.filesToDelete, tally.unwanted)
    reply.uploadsToDelete = tally.uploadsToDelete
    reply.deletedAttachments = tally.deletedAttachments
    reply.priorities = tally.priorities
    noteMessages(&tally)
    rows.record(tally.changed)
    reply.position = tally.changed.isEmpty ? nil : rows.position
    return reply
  }

  // MARK: Leases

  private mutating func wake(_ lane: LaneName, _ now: Int64) {
    for job in rows.jobs.values where job.lane == lane && (job.dueAt ?? .max) <= now {
      rows.jobs[job.key]?.dueAt = nil
    }
  }

  private mutating func claim(_ want: Want, _ tally: inout ExchangeTally) -> [Lease] {
    let token = tally.token
    if (want.count == 0 && want.newcomers == 0) || !rows.pauses(of: want.lane).isEmpty { return [] }
    if want.lane.sharing == .exclusive && rows.isHeld(want.lane, byOtherThan: token.holder) { return [] }
    var leases: [Lease] = []
    if want.lane.kind == .downloads {
      for job in rows.choose(want, token.holder) { lease(job, &leases, &tally) }
      return leases
    }
    let due = rows.jobs.values.filter { $0.isDue && $0.lane == want.lane }
    var queue = ModelTurnQueue(due, last: Set(due.filter(isSolitary).map(\.key)))
    var claim = TurnClaim(want.count, inHand: want.inHand)
    // The queue of the model throws nothing.
    try? claim.take(
      from: &queue, after: &rows.lastTurns[token.holder, default: [:]][want.lane, default: .min])
    for key in queue.taken { if let job = rows.jobs[key] { lease(job, &leases, &tally) } }
    return leases
  }

  /// Whether a job that is leased is to be alone.
  private func isSolitary(_ job: ModelRows.Job) -> Bool {
    guard job.key.kind == .attachment, job.losses >= Lease.lossesBeforeSolitude else { return false }
    return !hasOpenChildren(job) && !isUnfetched(job)
  }

  private func hasOpenChildren(_ job: ModelRows.Job) -> Bool {
    guard job.key.kind == .attachment, job.cancellation == nil else { return false }
    return expansion(of: job.key.subject)?.open ?? 0 > 0
  }

  /// It is to wait for its transfer before it is worked on.
  private func isUnfetched(_ job: ModelRows.Job) -> Bool {
    guard job.key.kind == .attachment, job.cancellation == nil,
      let attachment = rows.attachments[job.key.subject], attachment.kept == nil,
      let transfer = attachment.transfer
    else { return false }
    return rows.transfers[transfer]?.isFinished != true
  }

  private mutating func lease(_ job: ModelRows.Job, _ leases: inout [Lease], _ tally: inout ExchangeTally) {
    if hasOpenChildren(job), waitForChildren(job.key.subject) { return }
    if isUnfetched(job) { return waitForTransfer(job.key.subject, &tally) }
    guard let work = work(job.key) else { return }
    var cancellation = job.cancellation
    if job.key.kind == .transfer {
      // It goes out with its new link.
      rows.jobs[job.key]?.cancellation = nil
      cancellation = nil
    }
    rows.jobs[job.key]?.token = tally.token
    rows.jobs[job.key]?.attempts += 1
    let lease = Lease(
      job: job.key, token: tally.token, attempt: job.attempts + 1, counted: job.attempts + 1 - job.uncounted,
      crashes: job.crashes, losses: job.losses, priority: job.priority, turn: job.turn,
      cancellation: cancellation, work: work)
    leases.append(lease)
  }

  /// Never `nil`: the job of what is deleted goes with it.
  private func work(_ job: JobKey) -> LeasedWork? {
    let key = job.subject
    switch job.kind {
    case .attachment: return rows.attachments[key].map { .attachment(leased(key, $0)) }
    case .delivery: return rows.deliveries[key].map { .delivery($0.lease) }
    case .transfer: return rows.leased(key)
    }
  }

  private func leased(_ key: Int64, _ attachment: ModelRows.Attachment) -> LeasedAttachment {
    var leased = LeasedAttachment(
      key: key, origin: attachment.origin, participants: JSONWriter.array(of: rows.readers(of: attachment)),
      source: rows.source(attachment))
    (leased.place, leased.root) = place(of: key)
    let own = rows.attachments.values.filter { $0.parent == key }
    guard let said = attachment.expansion?.said else {
      let bytes = own.reduce(0) { $0 + ModelRows.size(of: $1.source) }
      leased.place.contents = max(leased.place.contents - Int64(own.count), 0)
      leased.place.bytes = max(leased.place.bytes - bytes, 0)
      return leased
    }
    var children: [Status: Int64] = [:]
    for child in own { children[child.outcome.status, default: 0] += 1 }
    leased.concluded = ConcludedExpansion(
      mediaType: said.outcome.mediaType, sizeBytes: said.outcome.sizeBytes,
      sha256: said.outcome.sha256.map(Hexadecimal.text),
      metadata: Metadatum.read(said.outcome.metadata) ?? [],
      url: attachment.kept, derived: attachment.outcome.derived, steps: said.steps, children: children)
    return leased
  }

  // MARK: Coordinators

  /// Removes the overdue holders. Returns how many jobs they had.
  mutating func takeBackLost(at now: Int64, but self: Int64?) -> Int {
    let lost = rows.holders.filter { $0.value.until < now && $0.key != self }.keys
    return lost.reduce(0) { $0 + remove($1, isLost: true, at: now) }
  }

  @discardableResult
  mutating func remove(_ holder: Int64, isLost: Bool, at now: Int64) -> Int {
    rows.holders[holder] = nil
    let keys = rows.jobs.values.filter { $0.token?.holder == holder }.map(\.key)
    for key in keys {
      setJob(key, .due, uncounted: 1, crashes: 0)
      if isLost { rows.jobs[key]?.losses += 1 }
    }
    // Nobody has them in hand any more.
    var tally = ExchangeTally(now: now, time: now, token: Token(holder: holder, number: 0), number: 0)
    for key in keys where key.kind == .transfer { leave(transfer: key.subject, &tally) }
    return keys.count
  }
}

extension ModelRows {
  func isHeld(_ lane: LaneName, byOtherThan holder: Int64) -> Bool {
    jobs.values.contains { job in
      guard let token = job.token else { return false }
      return token.holder != holder && job.lane == lane
    }
  }

  func source(_ attachment: Attachment) -> AttachmentSource {
    if let kept = attachment.kept {
      return .object(path: kept, sha256: names[kept]?.sha256 ?? [], source: attachment.source.path)
    }
    guard let transfer = attachment.transfer else { return attachment.source }
    return .link(
      transfer: transfer, name: attachment.source.name,
      fetched(transfer) ?? .failed(notFetched(transfers[transfer]?.reason), isRejected: false))
  }

  /// Fills in the state of a lane.
  func stand(_ state: inout LaneState, countsWaiting: Int, _ now: Int64) {
    let jobs = jobs.values.filter { $0.lane == state.name }
    let waiting = jobs.compactMap(\.dueAt)
    state.pause = pauses(of: state.name).first
    state.hasDue = state.pause == nil && jobs.contains(where: \.isDue)
    state.nextDue = waiting.min().map { max($0 - now, 0) }
    state.waiting = state.hasDue ? 0 : min(waiting.count, countsWaiting)
  }
}
