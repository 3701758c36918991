import LedgerPort
import Pipeline
import Platform

// Intake of files and links, and uploads.
extension LedgerRows {
  mutating func takeIn(
    _ items: [IntakeItem], _ tally: inout ExchangeTally
  ) throws(Failure) -> IntakeReport {
    var report = IntakeReport()
    for item in items { try takeIn(item, &tally, &report) }
    if report.added > 0 { try count(.queued, Int64(report.added), bytes: 0) }
    return report
  }

  private mutating func takeIn(
    _ item: IntakeItem, _ tally: inout ExchangeTally, _ report: inout IntakeReport
  ) throws(Failure) {
    if let fault = item.fault { return report.refuse(item.problem(fault)) }
    var transferIdentity: [UInt8] = []
    if let link = item.link {
      guard let identity = try identity(of: link) else {
        return report.refuse(
          item.problem(
            "links are taken in by a coordinator whose pipeline has 'lanes: { downloads: … }', since it has the key that seals them: "
              + "use `sluice fetch` or `sluice ingest` with such a pipeline, or start `sluice run` with one"))
      }
      transferIdentity = identity
    }
    let identity = item.identity(transfer: transferIdentity, hash)
    // Checked before the message is added: a deleted file brings no message back.
    if !item.isAgain, let id = try deleted(identity) {
      report.known += 1
      report.knownDeleted += 1
      report.outcomes.append(.deleted(id: id))
      return
    }
    var item = item
    var clientId: String?
    if hasConversations, let conversation = try conversation(item.conversationId) {
      if let problem = try problem(of: item, in: conversation) { return report.refuse(problem) }
      // Its members say who reads it.
      (item.checksParticipants, item.isOfMember) = (false, false)
      if let id = item.messageId, let message = try written(id, item, in: conversation) {
        item.messageId = message.id
      } else if item.isOfUser, let id = item.messageId {
        // An id that a member gives is a client id: it takes no other member's.
        if try message(ofClient: id, from: item.senderId) != nil {
          return report.refuse(item.problem("message '\(id)' of this sender is in another conversation"))
        }
        (item.messageId, clientId) = (nextId(), id)
      }
    }
    if item.isOfMember { return report.refuse(item.noMember) }
    // Then the message, if it has an id: a file must not join another sender's message.
    if let messageId = item.messageId {
      var message = try addMessage(item, id: messageId, at: tally.now)
      if let known = message, known.isOfUser, !item.isOfUser {
        if item.takesOver(known) {
          for key in try renameMessage(messageId, of: item.conversationId, to: nextId()) {
            tally.changed.add(attachment: key)
          }
          message = try addMessage(item, id: messageId, at: tally.now)
        } else {
          try claimMessage(messageId, of: item.conversationId)
        }
      }
      if let message {
        if let problem = item.problem(joining: message) { return report.refuse(problem) }
      } else {
        try number(messageWithId: messageId, clientId, of: item, &tally)
      }
    }
    if let (key, id, status) = try known(identity) {
      report.known += 1
      report.outcomes.append(.known(id: id))
      if item.isAgain {
        let all = try [id] + contents(of: key)
        _ = try apply(all.map { AttachmentCommand($0, .reprocess) }, &tally)
      } else if status.isFinal {
        let isNotCompleted = status == .completed ? try hasUnfinishedContents(key) : true
        if isNotCompleted { report.knownNotCompleted += 1 }
      }
      return try takeInAgain(item, key, &tally)
    }
    let messageId = item.messageId ?? nextId()
    if item.messageId == nil {
      _ = try addMessage(item, id: messageId, at: tally.now)
      try number(messageWithId: messageId, nil, of: item, &tally)
    }
    let id = nextId()
    let key = try addAttachment(
      item, id: id, identity: identity, messageId: messageId, parent: nil, at: tally.now)
    let turn = try turn(of: item.senderId, in: item.conversationId, tally)
    if let link = item.link {
      let transfer = try transfer(for: link, identity: transferIdentity, at: tally.now)
      try addLink(key, to: transfer, item)
      try self.await(transfer, for: key, turn: turn, priority: item.priority, &tally)
    } else {
      try addJob(
        NewJob(
          JobKey(.attachment, key), .attachments, priority: item.priority, dueAt: tally.time, turn: turn))
    }
    tally.changed.add(attachment: key)
    report.added += 1
    report.outcomes.append(.added(id: id))
  }

  /// The changes of a known attachment.
  private mutating func takeInAgain(_ item: IntakeItem, _ key: Int64, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    // A second request for a waiting link may raise its priority, and never lowers it.
    if item.link != nil, item.priority >= TransferPriority.asked,
      let job = try job(JobKey(.attachment, key)), job.priority < item.priority
    {
      try prioritize(attachment: key, item.priority, &tally)
      tally.touch(.attachments)
    }
    // The message may have moved within its mailbox.
    if MboxPath(item.source) != nil { try setSource(key, item.source, modified: nil) }
  }

  /// Takes in a checked content, and ends the attachment at once.
  mutating func record(_ check: RecordedCheck, _ tally: inout ExchangeTally) throws(Failure) -> IntakeReport {
    var item = check.item
    item.url = nil
    let report = try takeIn([item], &tally)
    // The intake has added the change already.
    guard report.added == 1, let id = report.outcomes.first?.id, check.outcome.status.isFinal,
      let key = tally.changed.attachments.last
    else { return report }
    try removeJob(JobKey(.attachment, key))
    var outcome = check.outcome
    outcome.url = nil
    let attachment = LeasedAttachment(
      key: key,
      origin: AttachmentOrigin(
        id: id, conversationId: item.conversationId, messageId: item.messageId ?? "", senderId: item.senderId,
        fileName: item.fileName), participants: "[]", source: item.attachmentSource)
    if try end(EndedAttachment(attachment, outcome, attempt: 1, steps: check.steps, events: []), &tally) {
      tally.addEnded(outcome)
    }
    return report
  }

  // MARK: Uploads

  mutating func apply(_ command: UploadCommand, _ tally: inout ExchangeTally) throws(Failure) -> CommandResult
  {
    let known = try row(ofUpload: command.id)
    switch command {
    case .begin(var record, let limit):
      if known != nil { return .refused("there is an upload '\(record.id)' already") }
      if let limit, try openUploadCount(of: UploadOwner(record.owner, record.role), at: tally.now) >= limit {
        return .refused("there are \(limit) uploads of this owner's that are not whole")
      }
      record.createdAt = tally.now
      record.expiresAt = tally.now &+ max(min(record.expiresAt, 1 << 50), 0)
      record.attachmentId = nil
      try setUpload(record)
    case .lengthen(let id, let length):
      guard var known else { return Self.noUpload(id) }
      if known.length == length { return .done(hasChanged: false) }
      if known.length != nil || length < 0 { return .refused("the length of an upload does not change") }
      known.length = length
      try setUpload(known)
    case .finish(let id, var item):
      guard var known else { return Self.noUpload(id) }
      if let attachment = known.attachmentId { return Self.isAttachment(attachment) }
      if let message = known.message {
        (item.conversationId, item.messageId) = (message.conversationId, message.messageId)
      }
      let report = try takeIn([item], &tally)
      if let attachment = report.outcomes.first?.id {
        known.attachmentId = attachment
        try setUpload(known)
      }
      return .takenIn(report)
    case .end(let id):
      guard let known else { return .done(hasChanged: false) }
      // Stages may still need the file as the content of its attachment.
      if let attachment = known.attachmentId, let fact = try fact(ofAttachment: attachment, at: tally.time),
        !fact.isDeleted, fact.status != .completed
      {
        return .done(hasChanged: false)
      }
      try removeUpload(id)
      if known.attachmentId == nil, let message = known.message {
        try noteMessage(message.messageId, in: message.conversationId, &tally)
      }
      tally.uploadsToDelete.append(id)
    case .giveUp(let id):
      guard let known else { return .done(hasChanged: false) }
      if let attachment = known.attachmentId { return Self.isAttachment(attachment) }
      try removeUpload(id)
      if let message = known.message {
        try noteMessage(message.messageId, in: message.conversationId, &tally)
      }
      tally.uploadsToDelete.append(id)
    }
    return .done(hasChanged: true)
  }

  private static func isAttachment(_ id: String) -> CommandResult {
    var report = IntakeReport()
    report.known += 1
    report.outcomes.append(.known(id: id))
    return .takenIn(report)
  }

  private static func noUpload(_ id: String) -> CommandResult { .refused("there is no upload '\(id)'") }
}
