import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

extension SQLiteLedger {
  /// Queues files. Must be called within a transaction.
  func takeIn(_ items: [IntakeItem], _ tally: inout ExchangeTally) throws -> IntakeReport {
    var report = IntakeReport()
    for item in items { try takeIn(item, &tally, &report) }
    if report.added > 0 {
      try statement(SQL.addToCount).run(
        .text(Status.queued.rawValue), .integer(Int64(report.added)), .integer(0))
    }
    return report
  }

  private func takeIn(_ item: IntakeItem, _ tally: inout ExchangeTally, _ report: inout IntakeReport) throws {
    if let fault = item.fault {
      return report.refuse(item.problem(fault))
    }
    var transferIdentity: [UInt8] = []
    if let link = item.link {
      guard let sealer else {
        return report.refuse(
          item.problem(
            "links are taken in by a coordinator whose pipeline has 'lanes: { downloads: … }', since it has the key that seals them: "
              + "use `sluice fetch` or `sluice ingest` with such a pipeline, or start `sluice run` with one"))
      }
      transferIdentity = try Self.identity(of: link, sealer)
    }
    let identity = item.identity(transfer: transferIdentity, hash)
    // Before its message: nothing of what a person deleted comes back.
    if !item.isAgain, let id = try deleted(identity) {
      report.known += 1
      report.knownDeleted += 1
      report.outcomes.append(.deleted(id: id))
      return
    }
    // Then the message, if it has an id: a file must not join another sender's message.
    if let messageId = item.messageId, let problem = try addMessage(item, id: messageId, tally.now) {
      return report.refuse(problem)
    }
    let known = try statement(SQL.knownAttachment).first(.blob(identity)) {
      (id: $0.text(0), status: Status(rawValue: $0.text(1)), key: $0.integer(2))
    }
    if let known {
      report.known += 1
      if let status = known.status, status.isFinal {
        let isNotCompleted = try status != .completed || hasUnfinishedContents(known.key)
        if isNotCompleted && !item.isAgain { report.knownNotCompleted += 1 }
      }
      if item.isAgain {
        let all = try [known.id] + contents(of: known.key)
        _ = try apply(all.map { AttachmentCommand($0, .reprocess) }, &tally)
      }
      report.outcomes.append(.known(id: known.id))
      if item.link != nil { try raise(known.key, to: item.priority, &tally) }
      if MboxPath(item.source) != nil {
        try statement(SQL.moveSource).run(.integer(known.key), .blob(item.source))
      }
      return
    }
    let messageId = item.messageId ?? ids.next()
    if item.messageId == nil { _ = try addMessage(item, id: messageId, tally.now) }
    let id = ids.next()
    try statement(SQL.addAttachment).run(
      item.values(id: id, identity: identity, messageId: messageId, at: tally.now))
    let key = connection.lastInsertedRow
    if let link = item.link, let sealer {
      let transfer = try transfer(for: link, identity: transferIdentity, sealer, at: tally.now)
      try statement(SQL.addLink).run(.integer(key), .integer(transfer))
      prefetch.addLink(to: item.messageId, of: item.conversationId)
      try self.await(transfer, for: key, turn(of: item.senderId), priority: item.priority, &tally)
    } else {
      try statement(SQL.addAttachmentJob).run(
        .integer(key), .integer(try laneKey(.attachments)), .integer(item.priority), .integer(tally.time),
        .integer(try turn(of: item.senderId)))
    }
    tally.changed.add(.attachment, key)
    report.added += 1
    report.outcomes.append(.added(id: id))
  }

  /// A link that is asked for again while it waits becomes as urgent as it is asked for, and never less.
  private func raise(_ key: Int64, to priority: Int64, _ tally: inout ExchangeTally) throws {
    if priority < TransferPriority.asked { return }
    let before = try statement(SQL.priorityOf).first(.integer(key)) { $0.integer(0) }
    guard let before, before < priority else { return }
    try prioritize(attachment: key, priority, &tally)
    tally.touch(.attachments)
  }

  /// The id of the attachment with this identity that a person has deleted; `nil`: there is none.
  func deleted(_ identity: [UInt8]) throws -> String? {
    if !hasTombstones { return nil }
    return try statement(SQL.tombstone).first(.blob(tombstoneIdentity(identity))) { $0.text(0) }
  }

  /// Adds a message unless it exists.
  ///
  /// - Returns: why the item cannot join the one that exists; `nil`: it can.
  private func addMessage(_ item: IntakeItem, id: String, _ now: Int64) throws -> IntakeProblem? {
    try statement(SQL.addMessage).run(
      .text(item.conversationId), .text(id), .text(item.senderId),
      .text(JSONWriter.array(of: item.participants)),
      .optional(item.text), .integer(now))
    if connection.changes == 1 { return nil }
    return try record(ofMessage: id, of: item.conversationId).flatMap { item.problem(joining: $0) }
  }

  private func record(ofMessage id: String, of conversation: String) throws -> MessageRecord? {
    try statement(SQL.message).first(.text(conversation), .text(id)) {
      MessageRecord(senderId: $0.text(0), participants: JSONStrings.read($0.text(1)) ?? [])
    }
  }

  public func message(_ id: String, of conversation: String) throws(LedgerError) -> MessageRecord? {
    try reading { try record(ofMessage: id, of: conversation) }
  }
}
