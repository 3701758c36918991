import LedgerPort
import LedgerRules
import Pipeline
import Platform

/// What one exchange gathers.
struct ModelTally {
  let now: Int64
  let token: Token
  let maker: ModelMaker
  var changed: [ModelRows.Subject] = []
  /// Lanes that commands have changed.
  var lanes: [LaneName] = []
  var uploadsToDelete: [String] = []
  /// Attachments were deleted.
  var hasDeleted = false
  /// There may be objects that are no attachment's any more.
  var hasUnused = false
  var filesToDelete: [Int64] = []
  var unwanted: [Int64] = []
  var priorities: [TransferPriority] = []
  /// Conversations of which something with a link was deleted or taken in.
  var shrunk: Set<String> = []

  mutating func touch(_ lane: LaneName) {
    if !lanes.contains(lane) { lanes.append(lane) }
  }
}

extension ModelRows {
  /// Cannot fail: it is done as a whole.
  mutating func perform(
    _ exchange: Exchange, _ token: Token, at now: Int64, _ maker: ModelMaker
  ) -> ExchangeReply {
    var tally = ModelTally(now: now, token: token, maker: maker)
    var reply = ExchangeReply()
    for path in exchange.deletedObjects where names[path]?.uses == 0 { names[path] = nil }
    reply.results = exchange.commands.map { apply($0, &tally) }
    refillWindows(&tally)
    for checkpoint in exchange.checkpoints { take(checkpoint) }
    reply.settled = exchange.settlements.map { settle($0, &tally) }
    if tally.hasUnused || !exchange.deletedObjects.isEmpty {
      reply.objectsToDelete = Array(objectsToDelete.prefix(1000))
    }
    for want in exchange.wanted {
      if lanes[want.lane] == nil { lanes[want.lane] = [] }
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
      stand(&reply.lanes[index], countsWaiting: counts, now)
    }
    reply.contents = exchange.contents.map { known($0) }
    (reply.filesToDelete, reply.unwanted) = (tally.filesToDelete, tally.unwanted)
    reply.uploadsToDelete = tally.uploadsToDelete
    reply.priorities = tally.priorities
    record(tally.changed)
    reply.position = tally.changed.isEmpty ? nil : position
    return reply
  }

  // MARK: Leases

  private mutating func wake(_ lane: LaneName, _ now: Int64) {
    for job in jobs.values where job.lane == lane && (job.dueAt ?? .max) <= now { jobs[job.key]?.dueAt = nil }
  }

  private mutating func claim(_ want: Want, _ tally: inout ModelTally) -> [Lease] {
    let token = tally.token
    if (want.count == 0 && want.newcomers == 0) || !pauses(of: want.lane).isEmpty { return [] }
    if want.lane.sharing == .exclusive && isHeld(want.lane, byOtherThan: token.holder) { return [] }
    var leases: [Lease] = []
    if want.lane.kind == .downloads {
      for job in choose(want, token.holder) { lease(job, token, &leases, &tally) }
      return leases
    }
    let due = jobs.values.filter { $0.isDue && $0.lane == want.lane }
    var queue = ModelTurnQueue(due, last: Set(due.filter(isSolitary).map(\.key)))
    var claim = TurnClaim(want.count, inHand: want.inHand)
    // The queue of the model throws nothing.
    try? claim.take(from: &queue, after: &lastTurns[token.holder, default: [:]][want.lane, default: .min])
    for key in queue.taken { if let job = jobs[key] { lease(job, token, &leases, &tally) } }
    return leases
  }

  /// Whether a job that is leased is to be alone.
  private func isSolitary(_ job: Job) -> Bool {
    guard job.key.kind == .attachment, job.losses >= Lease.lossesBeforeSolitude else { return false }
    return !hasOpenChildren(job) && unfetched(job) == nil
  }

  private mutating func lease(
    _ job: Job, _ token: Token, _ leases: inout [Lease], _ tally: inout ModelTally
  ) {
    if hasOpenChildren(job) {
      jobs[job.key]?.isExpanded = true
      return
    }
    if let transfer = unfetched(job) {
      waitForTransfer(job, transfer)
      tally.touch(.downloads)
      return
    }
    guard let work = work(job.key) else { return }
    var cancellation = job.cancellation
    if job.key.kind == .transfer {
      // It goes out with its new link.
      jobs[job.key]?.cancellation = nil
      cancellation = nil
    }
    jobs[job.key]?.token = token
    jobs[job.key]?.attempts += 1
    let lease = Lease(
      job: job.key, token: token, attempt: job.attempts + 1, counted: job.attempts + 1 - job.uncounted,
      crashes: job.crashes, losses: job.losses, priority: job.priority, turn: job.turn,
      cancellation: cancellation, work: work)
    leases.append(lease)
  }

  private func isHeld(_ lane: LaneName, byOtherThan holder: Int64) -> Bool {
    jobs.values.contains { job in
      guard let token = job.token else { return false }
      return token.holder != holder && job.lane == lane
    }
  }

  /// Never `nil`: the job of what is deleted goes with it.
  private func work(_ job: JobKey) -> LeasedWork? {
    let key = job.subject
    switch job.kind {
    case .attachment: return attachments[key].map { .attachment(leased(key, $0, source($0))) }
    case .delivery: return deliveries[key].map { .delivery($0.lease) }
    case .transfer: return leased(key)
    }
  }

  /// The transfer that an attachment is to wait for, before it is worked on.
  private func unfetched(_ job: Job) -> Int64? {
    guard job.key.kind == .attachment, case let key = job.key.subject, job.cancellation == nil,
      attachments[key]?.kept == nil, let transfer = attachments[key]?.transfer,
      transfers[transfer]?.isFinished != true
    else { return nil }
    return transfer
  }

  private func source(_ attachment: Attachment) -> AttachmentSource {
    if let kept = attachment.kept {
      return .object(path: kept, sha256: names[kept]?.sha256 ?? [], source: attachment.source.path)
    }
    guard let transfer = attachment.transfer else { return attachment.source }
    return .link(
      transfer: transfer, name: attachment.source.name,
      fetched(transfer) ?? .failed(notFetched(transfers[transfer]?.reason), isRejected: false))
  }

  /// Fills in the state of a lane.
  private func stand(_ state: inout LaneState, countsWaiting: Int, _ now: Int64) {
    let jobs = jobs.values.filter { $0.lane == state.name }
    let waiting = jobs.compactMap(\.dueAt)
    state.pause = pauses(of: state.name).first
    state.hasDue = state.pause == nil && jobs.contains(where: \.isDue)
    state.nextDue = waiting.min().map { max($0 - now, 0) }
    state.waiting = state.hasDue ? 0 : min(waiting.count, countsWaiting)
  }

  // MARK: Settlements

  private mutating func settle(_ settlement: Settlement, _ tally: inout ModelTally) -> SettlementOutcome {
    guard let job = jobs[settlement.job], job.token == settlement.token else { return .leaseLost }
    switch settlement.ending {
    case .attachment(let ended):
      if ended.outcome.status == .cancelled, job.cancellation == nil {
        giveBack(job.key)
        return .conflict
      }
      if !ended.children.isEmpty, let problem = problem(with: ended, tally.maker.hash) { return problem }
      let canHaveDerived = ended.outcome.derived.allSatisfy { object in
        names[object.url].map { $0.uses > 0 } ?? ended.stagedDerived.contains(object.name)
      }
      if !canHaveDerived {
        giveBack(job.key)
        return .conflict
      }
      if let url = ended.outcome.url, let sha256 = ended.outcome.sha256 {
        if let name = names[url], name.sha256 != sha256 || name.uses == 0 {
          giveBack(job.key)
          return name.uses > 0 ? .pathTaken : .conflict
        }
        names[url, default: Name(sha256: sha256)].uses += 1
      }
      jobs[job.key] = nil
      end(ended, &tally)
      if let kept = attachments[ended.key]?.kept {
        if ended.outcome.url != nil {
          names[kept]?.uses -= 1
          attachments[ended.key]?.kept = nil
          tally.hasUnused = tally.hasUnused || kept != ended.outcome.url
        }
      }
      let isReadFromObject = attachments[ended.key]?.kept != nil || ended.keptObject != nil
      if !isReadFromObject || attachments[ended.key]?.expansion != nil,
        let transfer = attachments[ended.key]?.transfer
      {
        leave(transfer, &tally)
      }
      addChildren(of: ended, &tally)
      tellParent(attachments[ended.key]?.parent, change: -1, &tally)
    case .expanded(let ended): return problem(with: ended, tally.maker.hash) ?? expand(job, ended, &tally)
    case .again(let key, let after, let crashed, let attempt, let steps):
      schedule(job, tally.now + min(after, 1 << 50), tally.now)
      if crashed { jobs[job.key]?.crashes += 1 }
      record(steps, of: key, attempt, tally.now)
    case .putOff(let key, let after, let attempt, let steps):
      schedule(job, tally.now + min(after, 1 << 50), tally.now)
      jobs[job.key]?.uncounted += 1
      record(steps, of: key, attempt, tally.now)
    case .released:
      giveBack(job.key)
      if job.key.kind == .transfer { leave(job.key.subject, &tally) }
    case .delivered(let key): endDelivery(key, .delivered, nil, &tally)
    case .deliveryAgain(let key, let after, let reason):
      schedule(job, tally.now + min(after, 1 << 50), tally.now)
      deliveries[key]?.reason = reason
    case .deadLetter(let key, let reason): endDelivery(key, .dead, reason, &tally)
    case .fetched, .transferAgain, .transferRestarts, .notFetched, .fetchAgain:
      return settle(job, transfer: settlement.ending, &tally)
    }
    return .counted
  }

  /// What a person does not want any more waits for nothing.
  mutating func schedule(_ job: Job, _ dueAt: Int64, _ now: Int64) {
    jobs[job.key]?.token = nil
    jobs[job.key]?.dueAt = job.cancellation == nil ? dueAt : min(dueAt, now)
  }

  mutating func endDelivery(
    _ key: Int64, _ status: DeliveryStatus, _ reason: Reason?, _ tally: inout ModelTally
  ) {
    guard var delivery = deliveries[key] else { return }
    if let job = delivery.job { jobs[job] = nil }
    (delivery.job, delivery.status, delivery.reason) = (nil, status, reason)
    delivery.finishedAt = tally.now
    deliveries[key] = delivery
    tally.changed.append(.delivery(key))
  }

  /// A step that is on record stays as it is.
  private mutating func record(_ steps: [Step], of key: Int64, _ attempt: Int, _ now: Int64) {
    let known = attachments[key]?.attempts[attempt]?.count ?? 0
    let new = steps.dropFirst(known).map { AttemptRecord(number: attempt, step: $0, recordedAt: now) }
    if new.isEmpty { return }
    attachments[key]?.attempts[attempt, default: []] += new
    addTime(of: new.map(\.step), key)
  }

  mutating func end(_ ended: EndedAttachment, _ tally: inout ModelTally) {
    let key = ended.key
    conclude(ended, &tally)
    attachments[key]?.outcome = ended.outcome
    for object in ended.outcome.derived { names[object.url, default: Name(sha256: object.sha256)].uses += 1 }
    attachments[key]?.finishedAt = tally.now
    attachments[key]?.fingerprint = ended.fingerprint
    attachments[key]?.job = nil
    record(ended.steps, of: key, ended.attempt, tally.now)
    count(.queued, -1)
    count(ended.outcome.status, 1, Self.bytes(ended.outcome))
    tally.changed.append(.attachment(key))
    let told = attachments[key]?.told ?? []
    var ids = DeliveryIds(ended.origin.id, told: told)
    for event in ToldEvents(told).news(ended.events) {
      attachments[key]?.told.append(event.type)
      let ordinal = ids.next(event.type)
      for recipient in event.recipients {
        let id = ids.id(event.type, ordinal, for: recipient, tally.maker.hash)
        for channel in event.channels {
          addDelivery(id, of: event, channel, recipient, ended, tally.now)
        }
      }
    }
  }

  private mutating func addDelivery(
    _ id: String, of event: OutgoingEvent, _ channel: String, _ recipient: String, _ ended: EndedAttachment,
    _ now: Int64
  ) {
    let key = Self.next(deliveries.keys)
    // An attachment that was tried before may have told the same, before a ledger was restored.
    let job = addJob(
      JobKey(.delivery, key), .channel(channel), priority: ended.priority,
      attempts: ended.attempt > 1 ? 1 : 0,
      sender: ended.origin.senderId)
    deliveries[key] = Delivery(
      lease: LeasedDelivery(
        key: key, id: id, channel: channel, recipient: recipient, type: event.type, data: event.data,
        createdAt: now, attachmentId: ended.origin.id, conversationId: ended.origin.conversationId,
        messageId: ended.origin.messageId), job: job)
    attachments[ended.key]?.deliveries.append(key)
  }
}
