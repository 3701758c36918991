import LedgerPort
import LedgerRules
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
    case .attachment(let request): return apply(request, &tally)
    case .delivery(let request): return apply(request, &tally)
    case .refresh(let request): return apply(request, &tally)
    case .token(let request): return apply(request, tally.now)
    case .upload(let request): return apply(request, &tally)
    case .record(let check):
      var report = IntakeReport()
      var item = check.item
      item.url = nil
      takeIn(item, &tally, &report)
      guard report.added == 1, let id = report.outcomes.first?.id, let key = keysById[id],
        let attachment = attachments[key], check.outcome.status.isFinal
      else { return .takenIn(report) }
      if let job = attachment.job { jobs[job] = nil }
      // Its end tells of it.
      tally.changed.removeLast()
      var outcome = check.outcome
      outcome.url = nil
      let leased = LeasedAttachment(
        key: key, origin: attachment.origin, participants: "[]", source: attachment.source)
      end(EndedAttachment(leased, outcome, attempt: 1, steps: check.steps, events: []), &tally)
      return .takenIn(report)
    }
  }

  private mutating func apply(_ request: UploadCommand, _ tally: inout ModelTally) -> CommandResult {
    switch (request, uploads[request.id]) {
    case (.begin(var record, let limit), nil):
      if let limit, openUploads(of: UploadOwner(record.owner, record.role), at: tally.now).count >= limit {
        return .refused("there are \(limit) uploads of this owner's that are not whole")
      }
      record.createdAt = tally.now
      record.expiresAt = tally.now &+ max(min(record.expiresAt, 1 << 50), 0)
      uploads[record.id] = record
      return .done(hasChanged: true)
    case (.begin(let record, _), _): return .refused("there is an upload '\(record.id)' already")
    case (.end(let id), let known):
      // Its file may be the content of an attachment that is worked on.
      let attachment = known?.attachmentId.flatMap { keysById[$0] }.flatMap { attachments[$0] }
      guard known != nil, attachment == nil || attachment?.outcome.status == .completed else {
        return .done(hasChanged: false)
      }
      tally.uploadsToDelete.append(id)
      uploads[id] = nil
      return .done(hasChanged: true)
    case (.giveUp, nil): return .done(hasChanged: false)
    case (.giveUp(let id), let known?):
      if let attachment = known.attachmentId {
        var report = IntakeReport()
        report.known += 1
        report.outcomes.append(.known(id: attachment))
        return .takenIn(report)
      }
      tally.uploadsToDelete.append(id)
      uploads[id] = nil
      return .done(hasChanged: true)
    case (_, nil): return .refused("there is no upload '\(request.id)'")
    case (.lengthen(let id, let length), let known?):
      if known.length == length { return .done(hasChanged: false) }
      if known.length != nil || length < 0 { return .refused("the length of an upload does not change") }
      uploads[id]?.length = length
      return .done(hasChanged: true)
    case (.finish(let id, let item), let known?):
      var report = IntakeReport()
      if let attachment = known.attachmentId {
        report.known += 1
        report.outcomes.append(.known(id: attachment))
      } else {
        takeIn(item, &tally, &report)
        uploads[id]?.attachmentId = report.outcomes.first?.id
      }
      return .takenIn(report)
    }
  }

  /// Those that have not become attachments, and may still.
  func openUploads(of owner: UploadOwner?, at now: Int64) -> [UploadRecord] {
    uploads.values.filter { upload in
      upload.attachmentId == nil && upload.expiresAt > now
        && (owner.map { $0.name == upload.owner && $0.role == upload.role } ?? true)
    }
  }

  private mutating func apply(_ request: TokenCommand, _ now: Int64) -> CommandResult {
    let place = tokens.firstIndex { $0.token.id == request.id }
    switch request.action {
    case .add(let hash, let name, let role, let expiresAt):
      if place != nil { return .refused("there is a token '\(request.id)' already; make another") }
      let token = AccessToken(id: request.id, name: name, role: role, createdAt: now, expiresAt: expiresAt)
      tokens.append((hash, token))
    case .signOut(let name):
      let open = tokens.indices.filter {
        let token = tokens[$0].token
        return token.role == .user && ByteText(token.name) == ByteText(name) && token.revokedAt == nil
      }
      for place in open { tokens[place].token.revokedAt = now }
      return .done(hasChanged: !open.isEmpty)
    case .revoke:
      guard let place else { return .refused("there is no token '\(request.id)'") }
      if tokens[place].token.revokedAt != nil { return .done(hasChanged: false) }
      tokens[place].token.revokedAt = now
    }
    return .done(hasChanged: true)
  }

  // MARK: Intake

  private mutating func takeIn(_ item: IntakeItem, _ tally: inout ModelTally, _ report: inout IntakeReport) {
    if let fault = item.fault {
      return report.refuse(item.problem(fault))
    }
    let transferIdentity = item.link.map { Self.identity(of: $0, tally.maker.hash) } ?? []
    let identity = item.identity(transfer: transferIdentity, tally.maker.hash)
    if !item.isAgain, let id = deletedIdentities[identity] {
      report.known += 1
      report.knownDeleted += 1
      report.outcomes.append(.deleted(id: id))
      return
    }
    if let id = item.messageId, let message = addMessage(item, id: id),
      let problem = item.problem(joining: message)
    {
      return report.refuse(problem)
    }
    if let key = keysByIdentity[identity] {
      report.known += 1
      if let known = attachments[key] {
        let status = known.outcome.status
        if !item.isAgain && status.isFinal && (status != .completed || hasUnfinishedContents(key)) {
          report.knownNotCompleted += 1
        }
        if item.isAgain {
          for id in [known.origin.id] + contents(of: key) {
            _ = apply(AttachmentCommand(id, .reprocess), &tally)
          }
        }
        report.outcomes.append(.known(id: known.origin.id))
        // What is asked for again becomes as urgent as it is asked for.
        if let transfer = known.transfer, item.priority >= TransferPriority.asked, let job = known.job,
          let before = jobs[job]?.priority, before < item.priority
        {
          jobs[job]?.priority = item.priority
          prioritize(transfer, &tally)
          tally.touch(.attachments)
        }
        if MboxPath(item.source) != nil,
          case .file(let host, _, let size, let modified, let device) = known.source
        {
          attachments[key]?.source = .file(
            host: host, path: item.source, size: size, modified: modified, folderDevice: device)
        }
      }
      return
    }
    let messageId = item.messageId ?? tally.maker.ids.next()
    if item.messageId == nil { _ = addMessage(item, id: messageId) }
    let message = messages[MessageName(conversation: item.conversationId, message: messageId)]
    let id = tally.maker.ids.next()
    let key = Self.next(attachments.keys)
    add(
      Attachment(
        origin: AttachmentOrigin(
          id: id, conversationId: item.conversationId, messageId: messageId, senderId: item.senderId,
          fileName: item.fileName, declaredType: item.declaredType, reference: item.reference,
          traceparent: item.traceparent), ownMessage: item.messageId == nil,
        identity: identity, source: item.attachmentSource, participants: message?.participants ?? [],
        createdAt: tally.now), key)
    if let link = item.link {
      // What may be shown of it stands where a file has its path.
      attachments[key]?.source = .file(
        host: nil, path: Array(link.name.utf8), size: item.sourceSize, modified: item.sourceModified,
        folderDevice: nil)
    }
    let job: JobKey
    if let link = item.link {
      let transfer = transfer(for: link, identity: transferIdentity)
      attachments[key]?.transfer = transfer
      transfers[transfer]?.attachments.insert(key)
      if item.messageId != nil { tally.shrunk.insert(item.conversationId) }
      job = addLinkedJob(key, transfer, priority: item.priority, &tally)
    } else {
      job = addJob(JobKey(.attachment, key), .attachments, priority: item.priority, sender: item.senderId)
    }
    attachments[key]?.job = job
    (keysByIdentity[identity], keysById[id]) = (key, key)
    count(.queued, 1)
    tally.changed.append(.attachment(key))
    report.added += 1
    report.outcomes.append(.added(id: id))
  }

  /// Adds a message, unless it is there. Returns what it is.
  private mutating func addMessage(_ item: IntakeItem, id: String) -> MessageRecord? {
    let name = MessageName(conversation: item.conversationId, message: id)
    if messages[name] == nil {
      messages[name] = Message(
        sender: item.senderId, participants: item.participants)
    }
    return messages[name].map { MessageRecord(senderId: $0.sender, participants: $0.participants) }
  }

  // MARK: Lanes

  private mutating func apply(_ request: LaneCommand, _ tally: inout ModelTally) -> CommandResult {
    let lane = request.lane
    let facts = lanes[lane] == nil ? [:] : [lane: pauses(of: lane)]
    let (results, writes) = LaneDecision.decide([request], facts)
    for write in writes {
      switch write {
      case .pause(_, var pause):
        pause.since = tally.now
        lanes[lane]?.removeAll { $0.pause.cause == pause.cause }
        lanes[lane]?.append(Standing(pause: pause, host: holders[tally.token.holder]?.host ?? ""))
      case .lift(_, let cause): lanes[lane]?.removeAll { $0.pause.cause == cause }
      case .hasten:
        for job in jobs.values where job.lane == lane { hasten(job.key, tally.now) }
      }
      tally.changed.append(.lane(lane))
      tally.touch(lane)
    }
    return results[0]
  }

  mutating func hasten(_ job: JobKey, _ now: Int64) {
    if let dueAt = jobs[job]?.dueAt { jobs[job]?.dueAt = min(dueAt, now) }
  }

  // MARK: Contents

  /// Of so many attachments with a content the words are looked at.
  private static let looked = 32

  /// The attachments whose object is that content, in order of intake.
  func stored(sha256: [UInt8], size: Int64) -> [Attachment] {
    places.compactMap { attachments[$0.key] }.filter {
      $0.outcome.url != nil && $0.outcome.sha256 == sha256 && $0.outcome.sizeBytes == size
    }
  }

  func known(_ question: ContentQuestion) -> KnownContent {
    var known = KnownContent()
    let equal = stored(sha256: question.sha256, size: question.size)
    known.url = equal.first?.outcome.url
    guard let fingerprint = question.fingerprint else { return known }
    for attachment in equal.filter({ $0.fingerprint == fingerprint }).prefix(Self.looked) {
      let origin = attachment.origin
      let claims = ContentQuestion.Claims(declaredType: origin.declaredType, fileName: origin.fileName)
      guard claims == question.claims, let metadata = Metadatum.read(attachment.outcome.metadata) else {
        continue
      }
      known.said = .init(
        mediaType: attachment.outcome.mediaType, metadata: metadata, derived: attachment.outcome.derived)
      break
    }
    return known
  }
}
