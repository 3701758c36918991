import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Commands: what each concern has to see is loaded, decided elsewhere, and stored, for all that follow each other at once.
extension SQLiteLedger {
  /// Applies commands in their order. Must be called within a transaction.
  func apply(_ commands: [Command], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var results: [CommandResult] = []
    var rest = commands[...]
    /// Takes off the front those of one concern.
    func run<Request>(_ request: (Command) -> Request?) -> [Request] {
      let found = rest.prefix { request($0) != nil }.compactMap(request)
      rest = rest.dropFirst(found.count)
      return found
    }
    while let next = rest.first {
      switch next {
      case .takeIn(let items):
        rest = rest.dropFirst()
        results.append(.takenIn(try takeIn(items, &tally)))
      case .lane: results += try apply(run { if case .lane(let one) = $0 { one } else { nil } }, &tally)
      case .attachment:
        results += try apply(run { if case .attachment(let one) = $0 { one } else { nil } }, &tally)
      case .delivery:
        results += try apply(run { if case .delivery(let one) = $0 { one } else { nil } }, &tally)
      case .refresh(let request):
        // Each changes which links the next one meets.
        rest = rest.dropFirst()
        results.append(try refresh(request, &tally))
      case .upload(let command):
        rest = rest.dropFirst()
        results.append(try apply(command, &tally))
      case .record(let check):
        rest = rest.dropFirst()
        results.append(.takenIn(try record(check, &tally)))
      case .token: results += try apply(run { if case .token(let one) = $0 { one } else { nil } }, tally)
      }
    }
    return results
  }

  // MARK: Checks

  /// Takes it in, and ends it at once.
  private func record(_ check: RecordedCheck, _ tally: inout ExchangeTally) throws -> IntakeReport {
    var item = check.item
    item.url = nil
    let report = try takeIn([item], &tally)
    guard report.added == 1, let id = report.outcomes.first?.id, check.outcome.status.isFinal,
      let key = try statement(SQL.attachmentToChange).first(
        .text(id), .integer(tally.time), make: { $0.integer(0) })
    else { return report }
    try remove(JobKey(.attachment, key))
    var outcome = check.outcome
    outcome.url = nil
    let source = AttachmentSource.file(
      host: nil, path: check.item.source, size: check.item.sourceSize, modified: check.item.sourceModified,
      folderDevice: nil)
    let origin = AttachmentOrigin(
      id: id, conversationId: check.item.conversationId, messageId: check.item.messageId ?? "",
      senderId: check.item.senderId, fileName: check.item.fileName)
    let attachment = LeasedAttachment(key: key, origin: origin, participants: "[]", source: source)
    if try end(EndedAttachment(attachment, outcome, attempt: 1, steps: check.steps, events: []), &tally) {
      tally.addEnded(outcome.status, min(outcome.sizeBytes ?? 0, 1 << 50))
    }
    return report
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
      tally.touch(lane)
    }
    return results
  }

  // MARK: Attachments

  func apply(_ requests: [AttachmentCommand], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var facts: [String: AttachmentDecision.Fact] = [:]
    for id in AttachmentDecision.needs(requests) { facts[id] = try fact(of: id, tally.time) }
    for request in requests where request.action == .reprocess {
      let id = request.attachmentId
      facts[id]?.isMade = try statement(SQL.isObjectMade).first(.text(id)) { $0.integer(0) == 1 } ?? false
    }
    for request in requests where request.action == .reprocess || request.action == .retry {
      let id = request.attachmentId
      facts[id]?.isCheck = try statement(SQL.isCheck).first(.text(id)) { $0.integer(0) == 1 } ?? false
    }
    let (results, writes) = AttachmentDecision.decide(requests, facts)
    for write in writes {
      switch write {
      case .queue(let key): try queueAgain(key, &tally)
      case .queueCompleted(let key): try queueAgain(key, &tally, keepsObject: true)
      case .hasten(let key):
        try hasten(JobKey(.attachment, key), tally.time)
      case .cancel(let key, let reason):
        try statement(SQL.cancelJob).run(.integer(key), .optional(reason), .integer(tally.time))
        if let transfer = try transfer(of: key) {
          try leave(transfer, &tally)
          try prioritize(transfer, &tally)
        }
      case .prioritize(let key, let priority): try prioritize(attachment: key, priority, &tally)
      case .delete(let key, let person, let isForgotten):
        try delete(key, by: person, isForgotten: isForgotten, &tally)
      }
    }
    if !writes.isEmpty { tally.touch(.attachments) }
    return results
  }

  /// With its transfer, where it has one.
  func prioritize(attachment key: Int64, _ priority: Int64, _ tally: inout ExchangeTally) throws {
    try statement(SQL.prioritizeJob).run(.integer(key), .integer(priority))
    if let transfer = try transfer(of: key) { try prioritize(transfer, &tally) }
  }

  private func fact(of id: String, _ time: Int64) throws -> AttachmentDecision.Fact? {
    let fact = try statement(SQL.attachmentToChange).first(.text(id), .integer(time)) { row in
      Status(rawValue: row.text(1)).map {
        AttachmentDecision.Fact(
          key: row.integer(0), status: $0, priority: row.integer(3), isWaiting: row.integer(2) == 1,
          isCancelled: row.integer(4) == 1)
      }
    }
    if let fact { return fact }
    return try statement(SQL.isDeleted).first(.text(id), make: { $0.integer(0) }) == 1 ? .deleted : nil
  }

  /// Queues an attachment that has ended, as if it had just been taken in. Its earlier attempts stay on record, and events emitted
  /// before are not emitted again.
  ///
  /// - Parameter keepsObject: its object is there, and stays until an attempt leaves another: it may be all that is left of the content.
  func queueAgain(_ key: Int64, _ tally: inout ExchangeTally, keepsObject: Bool = false) throws {
    let before = try statement(SQL.attachmentToQueue).first(.integer(key)) {
      ($0.text(0), $0.integer(1), $0.optionalText(2), $0.optionalText(3), $0.text(4))
    }
    guard let (status, size, url, keptBefore, sender) = before else { return }
    var kept = keptBefore
    try giveUpDerived(of: key, &tally)
    try forgetExpansion(of: key)
    try tellParent(of: key, change: 1, &tally)
    try statement(SQL.queueAttachment).run(.integer(key))
    if let url, keepsObject {
      try statement(SQL.keepObject).run(.integer(key), .text(url))
      kept = url
    } else if let url {
      try leaveName(url)
    }
    try statement(SQL.addToCount).run(.text(status), .integer(-1), .integer(-min(max(size, 0), 1 << 50)))
    try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(1), .integer(0))
    if kept == nil, let transfer = try transfer(of: key) {
      let earlier = try statement(SQL.attemptsOf).first(.integer(key)) { $0.integer(0) } ?? 1
      try self.await(transfer, for: key, turn(of: sender), priority: 0, earlier: earlier, &tally)
    } else {
      try statement(SQL.addRepeatedJob).run(
        .integer(key), .integer(try laneKey(.attachments)), .integer(tally.time),
        .integer(try turn(of: sender)))
    }
    tally.changed.add(.attachment, key)
  }

  /// An object is one attachment's less, and is to be deleted from the store where it is no other's.
  func giveUpName(_ path: String, _ tally: inout ExchangeTally) throws {
    try statement(SQL.giveUpName).run(.text(path))
    tally.hasUnused = true
  }

  /// Deletes all that is of an attachment. Its object is to be deleted from the store where it is no other's.
  private func delete(
    _ key: Int64, by person: String, isForgotten: Bool, _ tally: inout ExchangeTally
  ) throws {
    struct Row {
      var id: String
      var identity: [UInt8]
      var status: String
      var size: Int64
      var url, kept: String?
      var conversation, message: String
    }
    let found = try statement(SQL.attachmentToDelete).first(.integer(key)) { row in
      Row(
        id: row.text(0), identity: row.blob(1), status: row.text(2), size: row.integer(3),
        url: row.optionalText(4), kept: row.optionalText(5), conversation: row.text(6), message: row.text(7))
    }
    guard let row = found else { return }
    for sql in [SQL.removeDeliveryJobs, SQL.removeDeliveries, SQL.removeEvents, SQL.removeAttempts] {
      try statement(sql).run(.integer(key))
    }
    try remove(JobKey(.attachment, key))
    let transfer = try transfer(of: key)
    if let transfer {
      try statement(SQL.removeLink).run(.integer(key))
      try leave(transfer, &tally)
      try prioritize(transfer, &tally)
      prefetch.shrink(row.conversation)
    }
    try forgetUpload(ofAttachment: row.id, &tally)
    try giveUpDerived(of: key, &tally)
    try leaveTree(key, row.status, &tally)
    try statement(SQL.removeAttachment).run(.integer(key))
    try statement(SQL.removeEmptyMessage).run(.text(row.conversation), .text(row.message))
    for path in [row.url, row.kept] {
      if let path { try giveUpName(path, &tally) }
    }
    try statement(SQL.addToCount).run(
      .text(row.status), .integer(-1),
      .integer(row.status == Status.queued.rawValue ? 0 : -min(max(row.size, 0), 1 << 50)))
    try statement(SQL.addTombstone).run(
      .text(row.id), .blob(isForgotten ? Self.noIdentity : tombstoneIdentity(row.identity)), .text(person),
      .integer(tally.now))
    tally.changed.add(.deletion, connection.lastInsertedRow)
    (tally.hasDeleted, tally.hasUnused) = (true, true)
  }

  /// That of a tombstone by which no file is known.
  private static let noIdentity = [UInt8](repeating: 0, count: 16)

  /// What a tombstone keeps of an identity, which has a part of the file's name.
  func tombstoneIdentity(_ identity: [UInt8]) -> [UInt8] {
    var values = HashedValues()
    values.add(identity)
    return Array(hash.digest(of: values).prefix(16))
  }

  // MARK: Deliveries

  private func apply(_ requests: [DeliveryCommand], _ tally: inout ExchangeTally) throws -> [CommandResult] {
    var facts: [DeliveryDecision.Key: DeliveryDecision.Fact] = [:]
    for key in DeliveryDecision.needs(requests) {
      facts[key] =
        try statement(SQL.deliveryToChange).first(.integer(key.key), .text(key.id), .integer(tally.time)) {
          row in
          DeliveryStatus(rawValue: row.text(0)).map {
            DeliveryDecision.Fact($0, isWaiting: row.integer(1) == 1, channel: row.text(2))
          }
        } ?? nil
    }
    let (results, writes) = DeliveryDecision.decide(requests, facts)
    for write in writes {
      switch write {
      case .queue(let key, let channel):
        let lane = LaneName.channel(channel)
        try statement(SQL.reviveDelivery).run(.integer(key))
        try statement(SQL.queueDelivery).run(
          .integer(key), .integer(try laneKey(lane)), .integer(tally.time))
        tally.changed.add(.delivery, key)
        tally.touch(lane)
      case .hasten(let key):
        try hasten(JobKey(.delivery, key), tally.time)
      case .drop(let key):
        try remove(JobKey(.delivery, key))
        try statement(SQL.endDelivery).run(
          .integer(key), .text(DeliveryStatus.dropped.rawValue), .text("dropped"),
          .text("a person gave it up"), .integer(tally.now))
        tally.changed.add(.delivery, key)
      }
    }
    for request in requests {
      let key = DeliveryDecision.Key(key: request.key, id: request.deliveryId)
      if let fact = facts[key] { tally.touch(.channel(fact.channel)) }
    }
    return results
  }
}
