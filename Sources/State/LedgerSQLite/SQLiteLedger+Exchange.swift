import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

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

  /// A new tally for a transaction.
  func tally(_ number: Int64 = 0, turns: TurnRule = .sender) -> ExchangeTally {
    ExchangeTally(
      now: clock.now(), time: clock.steady(), token: Token(holder: holder, number: number),
      number: lastChange &+ 1, turns: turns)
  }

  private func perform(_ exchange: Exchange) throws -> ExchangeReply {
    var reply = ExchangeReply()
    var tally = tally(exchange.number, turns: exchange.turns)
    newborn = Newborn([])
    // The rules change their rows in place; here `rows` is a reference.
    var rows = self
    for path in exchange.deletedObjects { try statement(SQL.removeUnusedName).run(.text(path)) }
    reply.results = try rows.apply(exchange.commands, &tally)
    try refillWindows(&tally)
    // The paths of objects are among what is to be erased.
    if tally.hasDeleted || !exchange.deletedObjects.isEmpty { try noteResidue() }
    if exchange.addsInOrder {
      newborn = Newborn(try exchange.wanted.filter { try isFree($0.lane, tally.time) })
    }
    for checkpoint in exchange.checkpoints { try rows.take(checkpoint) }
    reply.settled = try rows.settle(exchange.settlements, &tally)
    if tally.hasUnused || !exchange.deletedObjects.isEmpty {
      reply.objectsToDelete = try unusedNames(Self.objectsDeletedAtOnce)
    }
    for want in exchange.wanted {
      let lane = try laneKey(want.lane)
      let before = reply.leases.count
      if let next = try nextDue(lane), next <= tally.time {
        try wake(lane, tally.time)
      }
      reply.leases += newborn.leases(of: want.lane)
      let missing = want.count - (reply.leases.count - before)
      if missing > 0 || want.newcomers > 0, try pauses(of: lane).isEmpty {
        let granted =
          switch want.lane.kind {
          case .attachments: try claimAttachments(want, missing, lane, &tally)
          case .channel: try claimDeliveries(want, missing, lane, tally.token)
          case .downloads: try claimTransfers(want, lane, &tally)
          }
        for lease in granted {
          try statement(SQL.claim).run(
            .text(lease.job.kind.rawValue), .integer(lease.job.subject), .integer(holder),
            .integer(exchange.number))
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
    reply.deletedAttachments = tally.deletedAttachments
    (reply.priorities, reply.uploadsToDelete) = (tally.priorities, tally.uploadsToDelete)
    try rows.noteMessages(&tally)
    reply.position = try advance(tally.changed, at: tally.time, tally.now)
    undecided = (exchange.number, reply)
    return reply
  }

  /// Makes due the scheduled jobs of a lane whose time has come.
  private func wake(_ lane: Int64, _ time: Int64) throws {
    var woken: [JobKey] = []
    try statement(SQL.wakeScheduled).rows(.integer(lane), .integer(time)) { row in
      if let kind = JobKey.Kind(rawValue: row.text(0)) { woken.append(JobKey(kind, row.integer(1))) }
    }
    for key in woken { try addTurn(of: key) }
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
}
