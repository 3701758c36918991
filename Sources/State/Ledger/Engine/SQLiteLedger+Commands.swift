import Pipeline
import SQLite

// Commands: what each concern has to see is loaded, decided elsewhere, and stored, for all that follow each other at once.
extension SQLiteLedger {
  /// Applies commands in their order. Must be called within a transaction.
  func apply(_ commands: [Command], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var results: [CommandResult] = []
    var lanes: [LaneCommand] = []
    var retries: [RetryCommand] = []
    func flush(_ tally: inout ExchangeTally) throws {
      if !lanes.isEmpty { results += try apply(lanes, &tally) }
      if !retries.isEmpty { results += try apply(retries, &tally) }
      lanes.removeAll()
      retries.removeAll()
    }
    for command in commands {
      switch command {
      case .takeIn(let items):
        try flush(&tally)
        results.append(.takenIn(try takeIn(items, &tally)))
      case .lane(let lane):
        if !retries.isEmpty { try flush(&tally) }
        lanes.append(lane)
      case .retry(let retry):
        if !lanes.isEmpty { try flush(&tally) }
        retries.append(retry)
      }
    }
    try flush(&tally)
    return results
  }

  // MARK: Lanes

  private func apply(_ requests: [LaneCommand], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var facts: [LaneName: [Pause]] = [:]
    for lane in LaneDecision.needs(requests) {
      if let key = try knownLaneKey(lane) { facts[lane] = try pauses(of: key) }
    }
    let (results, writes) = LaneDecision.decide(requests, facts)
    for write in writes {
      let lane: LaneName
      switch write {
      case .pause(let name, let pause):
        lane = name
        try statement(SQL.addPause).run(
          .integer(try laneKey(lane)), .text(pause.cause.rawValue), .text(pause.code), .text(pause.reason),
          .text(pause.by), .integer(tally.now))
      case .lift(let name, let cause):
        lane = name
        try statement(SQL.liftPause).run(.integer(try laneKey(lane)), .text(cause.rawValue))
      case .hasten(let name):
        lane = name
        try statement(SQL.hastenLane).run(.integer(try laneKey(lane)), .integer(tally.time))
      }
      tally.changed.add(.lane, try laneKey(lane))
      if !tally.lanes.contains(lane) { tally.lanes.append(lane) }
    }
    return results
  }

  // MARK: Attachments

  private func apply(_ requests: [RetryCommand], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var facts: [String: RetryDecision.Fact] = [:]
    for id in RetryDecision.needs(requests) {
      facts[id] =
        try statement(SQL.attachmentToRetry).first(.text(id), .integer(tally.time)) { row in
          Status(rawValue: row.text(1)).map {
            RetryDecision.Fact(key: row.integer(0), status: $0, isWaiting: row.integer(2) == 1)
          }
        } ?? nil
    }
    let (results, writes) = RetryDecision.decide(requests, facts)
    for write in writes {
      switch write {
      case .queue(let key): try queueAgain(key, &tally)
      case .hasten(let key): try statement(SQL.hastenAttachment).run(.integer(key), .integer(tally.time))
      }
      if !tally.lanes.contains(.attachments) { tally.lanes.append(.attachments) }
    }
    return results
  }

  /// Queues an attachment that has ended, as if it had just been taken in. Its earlier attempts stay on record, and events emitted
  /// before are not emitted again.
  func queueAgain(_ key: Int64, _ tally: inout ExchangeTally) throws {
    let before = try statement(SQL.attachmentToQueue).first(.integer(key)) {
      ($0.text(0), $0.integer(1), $0.optionalText(2))
    }
    guard let (status, size, url) = before else { return }
    if let url { try leaveName(url) }
    try statement(SQL.queueAttachment).run(.integer(key))
    try statement(SQL.addToCount).run(.text(status), .integer(-1), .integer(-min(max(size, 0), 1 << 50)))
    try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(1), .integer(0))
    try statement(SQL.addRepeatedJob).run(
      .integer(key), .integer(try laneKey(.attachments)), .integer(tally.time))
    tally.changed.add(.attachment, key)
  }
}
