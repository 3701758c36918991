import Ledger
import Pipeline
import Platform

extension ModelRows {
  mutating func apply(_ command: Command, _ tally: inout ModelTally) -> CommandResult {
    switch command {
    case .takeIn(let items):
      var report = IntakeReport()
      for item in items { takeIn(item, &tally, &report) }
      return .takenIn(report)
    case .lane(let request): return apply(request, &tally)
    case .retry(let request): return apply(request, &tally)
    }
  }

  // MARK: Intake

  private mutating func takeIn(_ item: IntakeItem, _ tally: inout ModelTally, _ report: inout IntakeReport) {
    if let fault = item.fault {
      report.problems.append("\(item.origin): \(fault); not taken in")
      return
    }
    if let id = item.messageId, let sender = addMessage(item, id: id), sender != item.senderId {
      report.problems.append(
        "\(item.origin): message '\(id)' of conversation '\(item.conversationId)' is from '\(sender)', "
          + "not from '\(item.senderId)'; give it another messageId")
      return
    }
    let identity = item.attachmentSource.identity(
      conversationId: item.conversationId, messageId: item.messageId, tally.maker.hash)
    if let key = keysByIdentity[identity] {
      let status = attachments[Int(key) - 1].outcome.status
      report.known += 1
      if status.isFinal && status != .completed { report.knownNotCompleted += 1 }
      return
    }
    let messageId = item.messageId ?? tally.maker.ids.next()
    if item.messageId == nil { _ = addMessage(item, id: messageId) }
    let message = messages[MessageName(conversation: item.conversationId, message: messageId)]
    let id = tally.maker.ids.next()
    let key = Int64(attachments.count) + 1
    attachments.append(
      Attachment(
        origin: AttachmentOrigin(
          id: id, conversationId: item.conversationId, messageId: messageId, senderId: item.senderId,
          fileName: item.fileName, declaredType: item.declaredType),
        source: item.attachmentSource, participants: message?.participants ?? "[]", createdAt: tally.now))
    attachments[Int(key) - 1].job = addJob(.attachment(key), .attachments, priority: item.priority)
    (keysByIdentity[identity], keysById[id]) = (key, key)
    count(.queued, 1)
    tally.changed.append(Change(.attachment, id))
    report.added += 1
  }

  /// Adds a message, unless it is there. Returns whose it is.
  private mutating func addMessage(_ item: IntakeItem, id: String) -> String? {
    let name = MessageName(conversation: item.conversationId, message: id)
    if messages[name] == nil {
      messages[name] = Message(
        sender: item.senderId, participants: JSONWriter.array(of: item.participants))
    }
    return messages[name]?.sender
  }

  // MARK: Lanes and attachments

  private mutating func apply(_ request: LaneCommand, _ tally: inout ModelTally) -> CommandResult {
    let lane = request.lane
    let facts = lanes[lane] == nil ? [:] : [lane: pauses(of: lane)]
    let (results, writes) = LaneDecision.decide([request], facts)
    for write in writes {
      switch write {
      case .pause(_, var pause):
        pause.since = tally.now
        lanes[lane]?.append(Standing(pause: pause, host: holders[tally.token.holder]?.host ?? ""))
      case .lift(_, let cause): lanes[lane]?.removeAll { $0.pause.cause == cause }
      case .hasten:
        for job in jobs.values where job.lane == lane { hasten(job.key, tally.now) }
      }
      tally.changed.append(Change(.lane, lane.description))
      if !tally.lanes.contains(lane) { tally.lanes.append(lane) }
    }
    return results[0]
  }

  private mutating func hasten(_ job: Int64, _ now: Int64) {
    if let dueAt = jobs[job]?.dueAt { jobs[job]?.dueAt = min(dueAt, now) }
  }

  private mutating func apply(_ request: RetryCommand, _ tally: inout ModelTally) -> CommandResult {
    var facts: [String: RetryDecision.Fact] = [:]
    if let key = keysById[request.attachmentId] {
      let attachment = attachments[Int(key) - 1]
      let isWaiting = (attachment.job.flatMap { jobs[$0]?.dueAt } ?? 0) > tally.now
      facts[request.attachmentId] = .init(key: key, status: attachment.outcome.status, isWaiting: isWaiting)
    }
    let (results, writes) = RetryDecision.decide([request], facts)
    for write in writes {
      switch write {
      case .queue(let key): queueAgain(key, &tally)
      case .hasten(let key):
        if let job = attachments[Int(key) - 1].job { hasten(job, tally.now) }
      }
      if !tally.lanes.contains(.attachments) { tally.lanes.append(.attachments) }
    }
    return results[0]
  }

  /// Its attempts stay on record, and are counted on.
  private mutating func queueAgain(_ key: Int64, _ tally: inout ModelTally) {
    let before = attachments[Int(key) - 1]
    if let url = before.outcome.url {
      names[url]?.uses -= 1
      if names[url]?.uses == 0 { names[url] = nil }
    }
    count(before.outcome.status, -1, -Self.bytes(before.outcome))
    count(.queued, 1)
    attachments[Int(key) - 1].outcome = AttachmentOutcome(.queued)
    (attachments[Int(key) - 1].finishedAt, attachments[Int(key) - 1].fingerprint) = (nil, nil)
    attachments[Int(key) - 1].job = addJob(
      .attachment(key), .attachments, priority: 0, attempts: before.attempts.keys.max() ?? 1)
    tally.changed.append(Change(.attachment, before.origin.id))
  }

  // MARK: Contents

  /// Of so many attachments with a content the words are looked at.
  private static let looked = 32

  func known(_ question: ContentQuestion) -> KnownContent {
    var known = KnownContent()
    let equal = attachments.filter {
      $0.outcome.url != nil && $0.outcome.sha256 == question.sha256 && $0.outcome.sizeBytes == question.size
    }
    known.url = equal.first?.outcome.url
    guard let fingerprint = question.fingerprint else { return known }
    for attachment in equal.filter({ $0.fingerprint == fingerprint }).prefix(Self.looked) {
      let origin = attachment.origin
      let claims = ContentQuestion.Claims(declaredType: origin.declaredType, fileName: origin.fileName)
      guard claims == question.claims, let metadata = Metadatum.read(attachment.outcome.metadata) else {
        continue
      }
      known.said = .init(mediaType: attachment.outcome.mediaType, metadata: metadata)
      break
    }
    return known
  }
}
