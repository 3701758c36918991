import Ledger
import Pipeline

/// What one exchange gathers.
struct ModelTally {
  let now: Int64
  let token: Token
  let maker: ModelMaker
  var changed: [Change] = []
  /// Lanes that commands have changed.
  var lanes: [LaneName] = []
}

extension ModelRows {
  /// Cannot fail: it is done as a whole.
  mutating func perform(
    _ exchange: Exchange, _ token: Token, at now: Int64, _ maker: ModelMaker
  ) -> ExchangeReply {
    var tally = ModelTally(now: now, token: token, maker: maker)
    var reply = ExchangeReply()
    reply.results = exchange.commands.map { apply($0, &tally) }
    reply.settled = exchange.settlements.map { settle($0, &tally) }
    for want in exchange.wanted {
      if lanes[want.lane] == nil { lanes[want.lane] = [] }
      wake(want.lane, now)
      let leases = claim(want, token)
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
    record(tally.changed)
    reply.position = tally.changed.isEmpty ? nil : position
    return reply
  }

  // MARK: Leases

  private mutating func wake(_ lane: LaneName, _ now: Int64) {
    for job in jobs.values where job.lane == lane && (job.dueAt ?? .max) <= now { jobs[job.key]?.dueAt = nil }
  }

  private mutating func claim(_ want: Want, _ token: Token) -> [Lease] {
    if want.count == 0 || !pauses(of: want.lane).isEmpty { return [] }
    if want.lane.sharing == .exclusive && isHeld(want.lane, byOtherThan: token.holder) { return [] }
    let due = jobs.values.filter { $0.isDue && $0.lane == want.lane }
    var leases: [Lease] = []
    for job in due.sorted(by: { ($1.priority, $0.key) < ($0.priority, $1.key) }).prefix(want.count) {
      jobs[job.key]?.token = token
      jobs[job.key]?.attempts += 1
      let lease = Lease(
        job: job.key, token: token, attempt: job.attempts + 1, counted: job.attempts + 1 - job.uncounted,
        crashes: job.crashes, losses: job.losses, priority: job.priority, work: work(job.subject))
      leases.append(lease)
      if lease.isSolitary { break }
    }
    return leases
  }

  private func isHeld(_ lane: LaneName, byOtherThan holder: Int64) -> Bool {
    jobs.values.contains { job in
      guard let token = job.token else { return false }
      return token.holder != holder && job.lane == lane
    }
  }

  private func work(_ subject: Job.Subject) -> LeasedWork {
    switch subject {
    case .attachment(let key):
      let attachment = attachments[Int(key) - 1]
      return .attachment(
        LeasedAttachment(
          key: key, origin: attachment.origin, participants: attachment.participants,
          source: attachment.source))
    case .delivery(let key): return .delivery(deliveries[Int(key) - 1].lease)
    }
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
      if let url = ended.outcome.url, let sha256 = ended.outcome.sha256 {
        if let name = names[url], name.sha256 != sha256 {
          giveBack(job.key)
          return .conflict
        }
        names[url, default: Name(sha256: sha256)].uses += 1
      }
      jobs[job.key] = nil
      end(ended, &tally)
    case .again(let key, let after, let crashed, let attempt, let steps):
      schedule(job.key, tally.now + min(after, 1 << 50))
      if crashed { jobs[job.key]?.crashes += 1 }
      record(steps, of: key, attempt, tally.now)
    case .putOff(let key, let after, let attempt, let steps):
      schedule(job.key, tally.now + min(after, 1 << 50))
      jobs[job.key]?.uncounted += 1
      record(steps, of: key, attempt, tally.now)
    case .released: giveBack(job.key)
    case .delivered(let key): endDelivery(job.key, key, "delivered", nil, &tally)
    case .deliveryAgain(let key, let after, let reason):
      schedule(job.key, tally.now + min(after, 1 << 50))
      deliveries[Int(key) - 1].reason = reason
    case .deadLetter(let key, let reason): endDelivery(job.key, key, "dead", reason, &tally)
    }
    return .counted
  }

  private mutating func schedule(_ job: Int64, _ dueAt: Int64) {
    jobs[job]?.token = nil
    jobs[job]?.dueAt = dueAt
  }

  private mutating func endDelivery(
    _ job: Int64, _ key: Int64, _ status: String, _ reason: Reason?, _ tally: inout ModelTally
  ) {
    jobs[job] = nil
    deliveries[Int(key) - 1].status = status
    deliveries[Int(key) - 1].reason = reason
    deliveries[Int(key) - 1].finishedAt = tally.now
    tally.changed.append(Change(.delivery, deliveries[Int(key) - 1].lease.id))
  }

  /// A step that is on record stays as it is.
  private mutating func record(_ steps: [Step], of key: Int64, _ attempt: Int, _ now: Int64) {
    let known = attachments[Int(key) - 1].attempts[attempt]?.count ?? 0
    let new = steps.dropFirst(known).map { AttemptRecord(number: attempt, step: $0, recordedAt: now) }
    if !new.isEmpty { attachments[Int(key) - 1].attempts[attempt, default: []] += new }
  }

  private mutating func end(_ ended: EndedAttachment, _ tally: inout ModelTally) {
    let index = Int(ended.key) - 1
    attachments[index].outcome = ended.outcome
    attachments[index].finishedAt = tally.now
    attachments[index].fingerprint = ended.fingerprint
    attachments[index].job = nil
    record(ended.steps, of: ended.key, ended.attempt, tally.now)
    count(.queued, -1)
    count(ended.outcome.status, 1, Self.bytes(ended.outcome))
    tally.changed.append(Change(.attachment, attachments[index].origin.id))
    let told = attachments[index].told
    var ids = DeliveryIds(ended.origin.id)
    for event in ended.events where !event.recipients.isEmpty && !told.contains(event.type) {
      attachments[index].told.insert(event.type)
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
    let key = Int64(deliveries.count) + 1
    deliveries.append(
      Delivery(
        lease: LeasedDelivery(
          key: key, id: id, channel: channel, recipient: recipient, type: event.type, data: event.data,
          createdAt: now, attachmentId: ended.origin.id, conversationId: ended.origin.conversationId,
          messageId: ended.origin.messageId)))
    attachments[Int(ended.key) - 1].deliveries.append(key)
    // An attachment that was tried before may have told the same, before a ledger was restored.
    _ = addJob(
      .delivery(key), .channel(channel), priority: ended.priority, attempts: ended.attempt > 1 ? 1 : 0)
  }
}
