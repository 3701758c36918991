import Pipeline
import Platform
import SQLite

/// The scheduler's request to the ledger, handled in one transaction.
public struct ExchangeRequest: Sendable {
  public var intake: [IntakeItem] = []
  public var settlements: [Settlement] = []
  /// The time, by ``Clock/steady()``. The scheduler reads the clock once per turn, so that scheduler and
  /// ledger agree on what is due.
  public var time: Int64
  /// How many leases are wanted, by lane; 0: only the lane's standing is asked for.
  public var wanted: [(lane: String, count: Int)] = []
  /// Lanes to pause, with code and reason.
  public var pauses: [(lane: String, code: String, reason: String)] = []
  /// Lanes to resume.
  public var resumed: [String] = []
  /// Contents that may have been processed before.
  public var contents: [ContentQuestion] = []

  public init(time: Int64 = Clock.steady()) {
    self.time = time
  }

  public var isEmpty: Bool {
    isLookup && contents.isEmpty
  }

  /// Whether the request writes nothing.
  var isLookup: Bool {
    intake.isEmpty && settlements.isEmpty && wanted.isEmpty && pauses.isEmpty && resumed.isEmpty
  }
}

/// The ledger's reply, once the transaction is durable.
public struct ExchangeReply: Sendable {
  public var intake = IntakeReport()
  public var leases: [Lease] = []
  /// The standing of each requested lane, in the order of the request.
  public var lanes: [LaneStanding] = []
  /// For each settlement, whether it counted. False: the lease was lost meanwhile, and nothing was written.
  public var accepted: [Bool] = []
  /// What is known of each content, in the order of the request.
  public var contents: [KnownContent] = []
}

/// The state of a lane after an exchange.
public struct LaneStanding: Sendable, Equatable {
  public var name: String
  /// How many of the wanted leases were granted.
  public var granted = 0
  /// Whether jobs are due and not leased. False if the lane is paused.
  public var hasDue = false
  /// When the next scheduled job is due; `nil`: there is none.
  public var nextDue: Int64?
  /// How many jobs are scheduled. Counted only if no job is due.
  public var scheduled = 0
}

extension Ledger {
  /// The queue's lane of attachments.
  public static let attachmentLane = "attachments"

  /// The lane of a channel's deliveries.
  public static func lane(ofChannel channel: String) -> String { "channel:" + channel }

  /// Takes in files, records results, pauses lanes and claims due jobs: one transaction, one sync.
  public func exchange(_ request: ExchangeRequest) throws(LedgerError) -> ExchangeReply {
    // A lookup needs no write transaction, whose commit would cost a sync.
    if request.isLookup {
      return try reading {
        var reply = ExchangeReply()
        reply.contents = try request.contents.map(known)
        return reply
      }
    }
    return try transaction {
      var reply = ExchangeReply()
      var ended: [Status: (count: Int64, bytes: Int64)] = [:]
      let now = clock.now()
      let due = request.time
      for (lane, code, reason) in request.pauses {
        try statement(SQL.pauseLane).run(.text(lane), .text(code), .text(reason), .integer(now))
      }
      for lane in request.resumed { try statement(SQL.resumeLane).run(.text(lane)) }
      reply.intake = try takeIn(request.intake, now)
      var newborn = Newborn(try request.wanted.filter { try isFree($0.lane, due) })
      for settlement in request.settlements {
        reply.accepted.append(try settle(settlement, now, &ended, &newborn))
      }
      try count(ended)
      let last = zip(request.settlements, reply.accepted).lazy.filter { $0.isEnd && $1 }.map(\.0.job).max()
      if let last { try statement(SQL.advanceFrontier).run(.integer(last)) }
      if !request.wanted.isEmpty {
        for (lane, count) in request.wanted {
          try statement(SQL.wakeScheduled).run(.text(lane), .integer(due))
          let before = reply.leases.count
          reply.leases += newborn.leases(of: lane)
          let missing = count - (reply.leases.count - before)
          if missing > 0 { try claim(lane, missing, &reply.leases) }
          reply.lanes.append(LaneStanding(name: lane, granted: reply.leases.count - before))
        }
        if !reply.leases.isEmpty { try statement(SQL.keepToken).run(.integer(lastToken), .integer(due)) }
        try stand(&reply.lanes)
      }
      reply.contents = try request.contents.map(known)
      return reply
    }
  }

  /// Fills in the state of each lane.
  private func stand(_ lanes: inout [LaneStanding]) throws {
    for index in lanes.indices {
      let name = Statement.Value.text(lanes[index].name)
      lanes[index].hasDue = try statement(SQL.hasDue).first(name) { $0.integer(0) } == 1
      lanes[index].nextDue = try statement(SQL.nextDue).first(name) { $0.optionalInteger(0) } ?? nil
      if lanes[index].nextDue != nil && !lanes[index].hasDue {
        lanes[index].scheduled = try statement(SQL.scheduled).first(name) { Int($0.integer(0)) } ?? 0
      }
    }
  }

  // MARK: Results

  private func settle(
    _ settlement: Settlement, _ now: Int64, _ ended: inout [Status: (count: Int64, bytes: Int64)],
    _ newborn: inout Newborn
  ) throws -> Bool {
    let job = SQLite.Statement.Value.integer(settlement.job)
    let token = SQLite.Statement.Value.integer(settlement.token)
    switch settlement.ending {
    case .attachment(let attachment):
      try statement(SQL.endJob).run(job, token)
      guard connection.changes == 1 else { return false }
      try end(attachment, now, &newborn)
      let outcome = attachment.outcome
      ended[outcome.status, default: (0, 0)].count += 1
      ended[outcome.status, default: (0, 0)].bytes &+= min(outcome.sizeBytes ?? 0, 1 << 50)
    case .again(let key, let dueAt, let crashed, let attempt, let steps):
      try statement(SQL.scheduleJob).run(job, token, .integer(dueAt), .integer(crashed ? 1 : 0), .integer(0))
      guard connection.changes == 1 else { return false }
      try record(steps, of: key, attempt, now)
    case .putOff(let key, let dueAt, let attempt, let steps):
      try statement(SQL.scheduleJob).run(job, token, .integer(dueAt), .integer(0), .integer(1))
      guard connection.changes == 1 else { return false }
      try record(steps, of: key, attempt, now)
    case .released:
      try statement(SQL.releaseJob).run(job, token)
      guard connection.changes == 1 else { return false }
    case .delivered(let key):
      try statement(SQL.endJob).run(job, token)
      guard connection.changes == 1 else { return false }
      try statement(SQL.endDelivery).run(.integer(key), .text("delivered"), .null, .null, .integer(now))
    case .deliveryAgain(let key, let dueAt, let reason):
      try statement(SQL.scheduleJob).run(job, token, .integer(dueAt), .integer(0), .integer(0))
      guard connection.changes == 1 else { return false }
      try statement(SQL.noteDelivery).run(.integer(key), .text(reason.code), .text(reason.message))
    case .deadLetter(let key, let reason):
      try statement(SQL.endJob).run(job, token)
      guard connection.changes == 1 else { return false }
      try statement(SQL.endDelivery).run(
        .integer(key), .text("dead"), .text(reason.code), .text(reason.message), .integer(now))
    }
    return true
  }

  private func end(_ attachment: EndedAttachment, _ now: Int64, _ newborn: inout Newborn) throws {
    let fingerprint = try attachment.fingerprint.flatMap { try fingerprintKey($0, isNew: true) }
    try statement(SQL.endAttachment).run(
      [.integer(attachment.key)] + attachment.outcome.values + [.integer(now), .optional(fingerprint)])
    try record(attachment.steps, of: attachment.key, attachment.attempt, now)
    if attachment.events.isEmpty { return }
    var told: Set<String> = []
    // A first attempt cannot have emitted events before.
    if attachment.attempt > 1 {
      try statement(SQL.toldTypes).rows(.integer(attachment.key)) { told.insert($0.text(0)) }
    }
    for event in attachment.events where !event.recipients.isEmpty && !told.contains(event.type) {
      try statement(SQL.addEvent).run(
        .integer(attachment.key), .text(event.type), .text(event.data), .integer(now))
      let key = connection.lastInsertedRow
      for recipient in event.recipients {
        let id = ids.next()
        for channel in event.channels {
          try statement(SQL.addDelivery).run(.text(id), .integer(key), .text(channel), .text(recipient))
          let delivery = LeasedDelivery(
            key: connection.lastInsertedRow, id: id, channel: channel, recipient: recipient, type: event.type,
            data: event.data, createdAt: now, attachmentId: attachment.origin.id,
            conversationId: attachment.origin.conversationId, messageId: attachment.origin.messageId)
          try queue(delivery, attachment.priority, now, &newborn)
        }
      }
    }
  }

  private func queue(_ delivery: LeasedDelivery, _ priority: Int64, _ now: Int64, _ newborn: inout Newborn)
    throws
  {
    let lane = Self.lane(ofChannel: delivery.channel)
    guard let token = try newborn.token(lane, next: nextToken) else {
      return try statement(SQL.addDeliveryJob).run(
        .text(lane), .integer(priority), .integer(delivery.key), .integer(now))
    }
    try statement(SQL.addLeasedDeliveryJob).run(
      .text(lane), .integer(priority), .integer(delivery.key), .integer(now), .integer(boot), .integer(token))
    newborn.add(
      Lease(
        job: connection.lastInsertedRow, token: token, attempt: 1, counted: 1, crashes: 0, suspicions: 0,
        priority: priority, work: .delivery(delivery)), lane)
  }

  private func record(_ steps: [Step], of key: Int64, _ attempt: Int, _ now: Int64) throws {
    for first in stride(from: 0, to: steps.count, by: SQL.attemptsAtOnce) {
      let some = steps[first...].prefix(SQL.attemptsAtOnce)
      var values: [Statement.Value] = [
        .integer(key), .integer(Int64(attempt)), .integer(now), .integer(Int64(first)),
      ]
      for step in some {
        values += [
          .text(step.stage), .text(step.verdict), .optional(step.code), .optional(step.message),
          .integer(step.microseconds),
        ]
      }
      try addAttempts(some.count).run(values)
    }
  }

  private func count(_ ended: [Status: (count: Int64, bytes: Int64)]) throws {
    for (status, sum) in ended {
      try statement(SQL.addToCount).run(.text(status.rawValue), .integer(sum.count), .integer(sum.bytes))
      try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(-sum.count), .integer(0))
    }
  }

  // MARK: Claiming

  /// Greater than every earlier one.
  private func nextToken() throws(LedgerError) -> Int64 {
    guard lastToken < .max else {
      throw LedgerError(.damaged, "\(path): its last token is no token; \(LedgerError.restore)")
    }
    lastToken += 1
    return lastToken
  }

  /// Whether the lane has no due job and is not paused, so that a job added now is next.
  private func isFree(_ lane: String, _ due: Int64) throws -> Bool {
    try statement(SQL.isLaneFree).first(.text(lane), .integer(due)) { $0.integer(0) } == 1
  }

  private func claim(_ lane: String, _ count: Int, _ leases: inout [Lease]) throws {
    struct Claimed {
      var job: Int64
      var attachment: Int64?
      var delivery: Int64?
      var attempts, crashes, uncounted, suspicions: Int
      var priority: Int64
    }
    let token = try nextToken()
    var claimed: [Claimed] = []
    try statement(SQL.claim).rows(.text(lane), .integer(Int64(count)), .integer(boot), .integer(token)) {
      row in
      claimed.append(
        Claimed(
          job: row.integer(0), attachment: row.optionalInteger(1), delivery: row.optionalInteger(2),
          attempts: Int(row.integer(3)), crashes: Int(row.integer(4)), uncounted: Int(row.integer(5)),
          suspicions: Int(row.integer(6)), priority: row.integer(7)))
    }
    // An UPDATE returns its rows in any order.
    for job in claimed.sorted(by: { ($1.priority, $0.job) < ($0.priority, $1.job) }) {
      let work: LeasedWork? =
        if let key = job.attachment {
          try attachment(key).map { .attachment($0) }
        } else if let key = job.delivery {
          try delivery(key).map { .delivery($0) }
        } else {
          nil
        }
      guard let work else {
        throw LedgerError(.damaged, "\(path): job \(job.job) is for nothing; \(LedgerError.restore)")
      }
      leases.append(
        Lease(
          job: job.job, token: token, attempt: job.attempts,
          counted: max(job.attempts, 0) - max(job.uncounted, 0),
          crashes: job.crashes, suspicions: job.suspicions, priority: job.priority, work: work))
    }
  }

  private func attachment(_ key: Int64) throws -> LeasedAttachment? {
    try statement(SQL.attachmentOfJob).first(.integer(key)) { row in
      let next = AttachmentOrigin.width
      return LeasedAttachment(
        key: key, origin: AttachmentOrigin(row), participants: row.text(next), source: row.blob(next + 1),
        sourceSize: row.integer(next + 2), sourceModified: row.integer(next + 3),
        folderDevice: row.optionalInteger(next + 4))
    }
  }

  private func delivery(_ key: Int64) throws -> LeasedDelivery? {
    try statement(SQL.deliveryOfJob).first(.integer(key)) { row in
      LeasedDelivery(
        key: key, id: row.text(0), channel: row.text(1), recipient: row.text(2), type: row.text(3),
        data: row.text(4),
        createdAt: row.integer(5), attachmentId: row.text(6), conversationId: row.text(7),
        messageId: row.text(8))
    }
  }

  /// Resumes paused lanes.
  public func resumeLanes() throws(LedgerError) {
    try transaction { try statement(SQL.resumeLanes).run() }
  }
}
