import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

/// What one transaction gathers.
struct ExchangeTally {
  /// Milliseconds since 1970, for what is recorded.
  var now: Int64
  /// By the clock that says what is due, in milliseconds.
  var time: Int64
  var token: Token
  var ended: [(status: Status, count: Int64, bytes: Int64)] = []
  var newborn: Newborn
  var changed = ChangedSubjects()
  /// Lanes that commands have changed.
  var lanes: [LaneName] = []
  /// Attachments were deleted.
  var hasDeleted = false
  /// There may be objects that are no attachment's any more.
  var hasUnused = false
  /// Transfers whose files are no longer needed.
  var filesToDelete: [Int64] = []
  /// Uploads that are over.
  var uploadsToDelete: [String] = []
  /// Transfers under way that no attachment waits for.
  var unwanted: [Int64] = []
  var priorities: [TransferPriority] = []

  mutating func touch(_ lane: LaneName) {
    if !lanes.contains(lane) { lanes.append(lane) }
  }

  mutating func addEnded(_ status: Status, _ bytes: Int64) {
    let index = ended.firstIndex { $0.status == status } ?? ended.count
    if index == ended.count { ended.append((status, 0, 0)) }
    ended[index].count += 1
    ended[index].bytes &+= bytes
  }
}

extension SQLiteLedger {
  public func exchange(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply {
    // A lookup needs no write transaction, whose commit would cost a sync.
    if exchange.isLookup {
      return try reading {
        var reply = ExchangeReply()
        reply.contents = try exchange.contents.map(known)
        return reply
      }
    }
    if let last, last.number == exchange.number { return last.reply }
    let reply: ExchangeReply
    do {
      reply = try write(exchange)
    } catch  where error.code == .full && exchange.makesRoom {
      // The reserve was given back: what makes room may use it.
      reply = try write(exchange)
    }
    keep(exchange.number, reply)
    return reply
  }

  private func write(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply {
    try transaction {
      try statement(SQL.countExchange).run(.integer(holder), .integer(exchange.number))
      guard connection.changes == 1 else { throw fenced(exchange) }
      return try perform(exchange)
    }
  }

  /// Objects that a reply names, at most.
  private static let objectsDeletedAtOnce = 1000

  /// An exchange is durable.
  private func keep(_ number: Int64, _ reply: ExchangeReply) {
    last = (number, reply)
    if let position = reply.position { lastChange = position.number }
  }

  public func fate(of exchange: Exchange) throws(LedgerError) -> ExchangeReply? {
    if exchange.isLookup { return nil }
    let number = try reading { try statement(SQL.lastExchange).first(.integer(holder)) { $0.integer(0) } }
    guard let number, number == exchange.number || number == exchange.number - 1 else {
      throw fenced(exchange)
    }
    if number < exchange.number { return nil }
    guard let answer = undecided, answer.number == number else { throw fenced(exchange) }
    keep(number, answer.reply)
    return answer.reply
  }

  private func fenced(_ exchange: Exchange) -> LedgerError {
    LedgerError(
      .fenced,
      "\(path) does not know coordinator \(holder) with \(exchange.number) exchanges; it was taken for lost, or the file was "
        + "replaced: run the same command again")
  }

  private func perform(_ exchange: Exchange) throws -> ExchangeReply {
    var reply = ExchangeReply()
    var tally = ExchangeTally(
      now: clock.now(), time: clock.steady(), token: Token(holder: holder, number: exchange.number),
      newborn: Newborn([]))
    for path in exchange.deletedObjects { try statement(SQL.removeUnusedName).run(.text(path)) }
    reply.results = try apply(exchange.commands, &tally)
    try refillWindows(&tally)
    // The paths of objects are among what is to be erased.
    if tally.hasDeleted || !exchange.deletedObjects.isEmpty { try noteResidue() }
    if exchange.addsInOrder {
      tally.newborn = Newborn(try exchange.wanted.filter { try isFree($0.lane, tally.time) })
    }
    for checkpoint in exchange.checkpoints { try take(checkpoint) }
    for settlement in exchange.settlements { reply.settled.append(try settle(settlement, &tally)) }
    try count(tally.ended)
    if tally.hasUnused || !exchange.deletedObjects.isEmpty {
      reply.objectsToDelete = try unusedNames(Self.objectsDeletedAtOnce)
    }
    for want in exchange.wanted {
      let lane = try laneKey(want.lane)
      let before = reply.leases.count
      if let next = try nextDue(lane), next <= tally.time {
        try statement(SQL.wakeScheduled).run(.integer(lane), .integer(tally.time))
      }
      reply.leases += tally.newborn.leases(of: want.lane)
      let missing = want.count - (reply.leases.count - before)
      if missing > 0 || want.newcomers > 0, try pauses(of: lane).isEmpty {
        let granted =
          switch want.lane.kind {
          case .attachments: try claimAttachments(want, missing, lane, &tally)
          case .channel: try claimDeliveries(want, missing, lane, tally.token)
          case .downloads: try claimTransfers(want, lane, &tally)
          }
        for lease in granted {
          try statement(SQL.claim).run(fence(lease.job, tally.token))
        }
        reply.leases += granted
      }
      var state = LaneState(want.lane)
      state.granted = reply.leases.count - before
      reply.lanes.append(state)
    }
    for lane in tally.lanes where !reply.lanes.contains(where: { $0.name == lane }) {
      reply.lanes.append(LaneState(lane))
    }
    for index in reply.lanes.indices {
      let want = index < exchange.wanted.count ? exchange.wanted[index] : Want(reply.lanes[index].name, 0)
      try stand(&reply.lanes[index], countsWaiting: want.countsWaiting, at: tally.time)
    }
    reply.contents = try exchange.contents.map(known)
    (reply.filesToDelete, reply.unwanted) = (tally.filesToDelete, tally.unwanted)
    (reply.priorities, reply.uploadsToDelete) = (tally.priorities, tally.uploadsToDelete)
    reply.position = try advance(tally.changed, at: tally.time, tally.now)
    undecided = (exchange.number, reply)
    return reply
  }

  /// Fills in the state of a lane.
  private func stand(_ state: inout LaneState, countsWaiting: Int, at time: Int64) throws {
    let lane = Statement.Value.integer(try laneKey(state.name))
    state.pause = try pauses(of: try laneKey(state.name)).first
    let hasDue = try statement(SQL.hasDue).first(lane) { $0.integer(0) } == 1
    state.hasDue = (hasDue || (state.name == .downloads && prefetch.isLooking)) && state.pause == nil
    let next = try nextDue(laneKey(state.name))
    state.nextDue = next.map { max($0, time) - time }
    if countsWaiting > 0 && next != nil && !state.hasDue {
      state.waiting =
        try statement(SQL.scheduled).first(lane, .integer(Int64(countsWaiting))) { Int($0.integer(0)) } ?? 0
    }
  }

  /// When the next job of a lane is due that waits for later; `nil`: there is none.
  func nextDue(_ lane: Int64) throws -> Int64? {
    try statement(SQL.nextDue).first(.integer(lane)) { $0.optionalInteger(0) } ?? nil
  }

  // MARK: Results

  private func settle(_ settlement: Settlement, _ tally: inout ExchangeTally) throws -> SettlementOutcome {
    let now = Statement.Value.integer(tally.now)
    switch settlement.ending {
    case .attachment(let attachment):
      let outcome = attachment.outcome
      if outcome.status == .cancelled, try isWantedAgain(settlement) {
        return try change(SQL.releaseJob, settlement) ? .conflict : .leaseLost
      }
      if !attachment.children.isEmpty, let problem = try problem(with: attachment, settlement) {
        return problem
      }
      if try !attachment.outcome.derived.isEmpty && !canTakeNames(ofDerived: attachment) {
        return try change(SQL.releaseJob, settlement) ? .conflict : .leaseLost
      }
      if let url = outcome.url, let sha256 = outcome.sha256 {
        try statement(SQL.takeName).run(.text(url), .blob(sha256))
        if connection.changes == 0 {
          let isOther = try statement(SQL.isInUse).first(.text(url), make: { $0.integer(0) == 1 }) ?? false
          guard try change(SQL.releaseJob, settlement) else { return .leaseLost }
          return isOther ? .pathTaken : .conflict
        }
      }
      guard try change(SQL.endJob, settlement) else {
        if let url = outcome.url { try leaveName(url) }
        return .leaseLost
      }
      let replaced = outcome.url == nil ? nil : attachment.keptObject
      if replaced != nil { try statement(SQL.forgetKept).run(.integer(attachment.key)) }
      guard try end(attachment, &tally) else {
        // It has ended: another program gave it a job.
        if let url = outcome.url { try leaveName(url) }
        return .counted
      }
      // While one waited for its children, it may have been read from its object.
      if let transfer = try attachment.transfer ?? transfer(ofExpanded: attachment.key) {
        try leave(transfer, &tally)
      }
      if let replaced {
        // Where it is its object again, its path has just been taken a second time.
        if outcome.url == replaced { try leaveName(replaced) } else { try giveUpName(replaced, &tally) }
      }
      tally.changed.add(.attachment, attachment.key)
      try addChildren(of: attachment, &tally)
      try tellParent(of: attachment.key, change: -1, &tally)
      tally.addEnded(outcome.status, min(outcome.sizeBytes ?? 0, 1 << 50))
    case .expanded(let attachment):
      if let problem = try problem(with: attachment, settlement) { return problem }
      return try settleExpanded(settlement, attachment, &tally)
    case .again(let key, let after, let crashed, let attempt, let steps):
      guard try schedule(settlement, tally.time, after, crashed: crashed) else { return .leaseLost }
      try record(steps, of: key, attempt, tally.now)
    case .putOff(let key, let after, let attempt, let steps):
      guard try schedule(settlement, tally.time, after, isCounted: false) else { return .leaseLost }
      try record(steps, of: key, attempt, tally.now)
    case .released:
      guard try change(SQL.releaseJob, settlement) else { return .leaseLost }
      if settlement.job.kind == .transfer { try leave(settlement.job.subject, &tally) }
    case .delivered(let key):
      guard try change(SQL.endJob, settlement) else { return .leaseLost }
      try statement(SQL.endDelivery).run(.integer(key), .text("delivered"), .null, .null, now)
      tally.changed.add(.delivery, key)
    case .deliveryAgain(let key, let after, let reason):
      guard try schedule(settlement, tally.time, after) else { return .leaseLost }
      try statement(SQL.noteDelivery).run(.integer(key), .text(reason.code), .text(reason.message))
    case .deadLetter(let key, let reason):
      guard try change(SQL.endJob, settlement) else { return .leaseLost }
      try statement(SQL.endDelivery).run(
        .integer(key), .text("dead"), .text(reason.code), .text(reason.message), now)
      tally.changed.add(.delivery, key)
    case .fetched, .transferAgain, .transferRestarts, .notFetched, .fetchAgain:
      return try settleTransfer(settlement, &tally)
    }
    return .counted
  }

  /// Whether a person wants an attachment after all that was to end as cancelled.
  private func isWantedAgain(_ settlement: Settlement) throws -> Bool {
    try statement(SQL.isWanted).first(
      .text(settlement.job.kind.rawValue), .integer(settlement.job.subject), make: { $0.integer(0) == 1 })
      ?? false
  }

  /// Changes the job of a settlement. False: its lease was lost.
  func change(_ sql: StaticString, _ settlement: Settlement) throws -> Bool {
    try statement(sql).run(fence(settlement))
    return connection.changes == 1
  }

  /// The first values of a statement that is fenced: the job, and the lease under which it counts.
  func fence(_ settlement: Settlement) -> [Statement.Value] { fence(settlement.job, settlement.token) }

  func fence(_ job: JobKey, _ token: Token) -> [Statement.Value] {
    [.text(job.kind.rawValue), .integer(job.subject), .integer(token.holder), .integer(token.number)]
  }

  func remove(_ job: JobKey) throws {
    try statement(SQL.removeJob).run(.text(job.kind.rawValue), .integer(job.subject))
  }

  func hasten(_ job: JobKey, _ time: Int64) throws {
    try statement(SQL.hastenJob).run(.text(job.kind.rawValue), .integer(job.subject), .integer(time))
  }

  func schedule(
    _ settlement: Settlement, _ time: Int64, _ after: Int64, crashed: Bool = false, isCounted: Bool = true
  ) throws -> Bool {
    // The longest wait is some thirty thousand years: no sum overflows.
    try statement(SQL.scheduleJob).run(
      fence(settlement) + [
        .integer(time + min(after, 1 << 50)), .integer(crashed ? 1 : 0), .integer(isCounted ? 0 : 1),
      ])
    return connection.changes == 1
  }

  /// An attachment no longer has its object at this path.
  func leaveName(_ path: String) throws {
    try statement(SQL.leaveName).run(.text(path))
    if connection.changes == 0 { try statement(SQL.removeName).run(.text(path)) }
  }

  /// False: it has ended before.
  func end(_ attachment: EndedAttachment, _ tally: inout ExchangeTally) throws -> Bool {
    let fingerprint = try attachment.fingerprint.flatMap { try fingerprintKey($0, isNew: true) }
    try statement(SQL.endAttachment).run(
      [.integer(attachment.key)] + attachment.outcome.values + [.integer(tally.now), .optional(fingerprint)])
    if connection.changes == 0 { return false }
    try conclude(attachment.key)
    try replaceDerived(attachment, &tally)
    try record(attachment.steps, of: attachment.key, attachment.attempt, tally.now)
    if attachment.events.isEmpty { return true }
    var types: [String] = []
    // A first attempt cannot have emitted events before.
    if attachment.attempt > 1 {
      try statement(SQL.toldTypes).rows(.integer(attachment.key)) { types.append($0.text(0)) }
    }
    var ids = DeliveryIds(attachment.origin.id, told: types)
    for event in ToldEvents(types).news(attachment.events) {
      try statement(SQL.addEvent).run(
        .integer(attachment.key), .text(event.type), .text(event.data), .integer(tally.now))
      let key = connection.lastInsertedRow
      let ordinal = ids.next(event.type)
      for recipient in event.recipients {
        let id = ids.id(event.type, ordinal, for: recipient, hash)
        for channel in event.channels {
          try statement(SQL.addDelivery).run(.text(id), .integer(key), .text(channel), .text(recipient))
          let delivery = LeasedDelivery(
            key: connection.lastInsertedRow, id: id, channel: channel, recipient: recipient, type: event.type,
            data: event.data, createdAt: tally.now, attachmentId: attachment.origin.id,
            conversationId: attachment.origin.conversationId, messageId: attachment.origin.messageId)
          try queue(delivery, of: attachment, &tally)
        }
      }
    }
    return true
  }

  private func queue(
    _ delivery: LeasedDelivery, of attachment: EndedAttachment, _ tally: inout ExchangeTally
  ) throws {
    let lane = LaneName.channel(delivery.channel)
    let key = Statement.Value.integer(try laneKey(lane))
    let (subject, priority) = (
      Statement.Value.integer(delivery.key), Statement.Value.integer(attachment.priority)
    )
    // An attachment that was tried before may have told the same before the ledger was restored from a copy: the channel is to
    // look.
    let earlier = attachment.attempt > 1 ? 1 : 0
    let turn = try turn(of: attachment.origin.senderId)
    guard tally.newborn.takes(lane) else {
      return try statement(SQL.addDeliveryJob).run(
        subject, key, priority, .integer(tally.time), .integer(Int64(earlier)), .integer(turn))
    }
    try statement(SQL.addLeasedDeliveryJob).run(
      subject, key, priority, .integer(tally.time), .integer(tally.token.holder),
      .integer(tally.token.number),
      .integer(Int64(earlier)), .integer(turn))
    tally.newborn.add(
      Lease(
        job: JobKey(.delivery, delivery.key), token: tally.token, attempt: 1 + earlier, counted: 1,
        priority: attachment.priority, turn: turn, work: .delivery(delivery)), lane)
  }

  private func record(_ steps: [Step], of key: Int64, _ attempt: Int, _ now: Int64) throws {
    if steps.isEmpty { return }
    try statement(SQL.addAttempt).run(
      .integer(key), .integer(Int64(attempt)), .text(Step.said(steps)), .integer(now))
    if connection.changes == 1 { try addTime(of: steps, key) }
  }

  private func count(_ ended: [(status: Status, count: Int64, bytes: Int64)]) throws {
    for (status, count, bytes) in ended {
      try statement(SQL.addToCount).run(.text(status.rawValue), .integer(count), .integer(bytes))
      try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(-count), .integer(0))
    }
  }
}
