import LedgerPort
import LedgerRules
import Pipeline

// What commands do to attachments and deliveries.
extension ModelRows {
  // MARK: Attachments

  mutating func apply(_ request: AttachmentCommand, _ tally: inout ModelTally) -> CommandResult {
    let id = request.attachmentId
    var facts: [String: AttachmentDecision.Fact] = [:]
    if let key = keysById[id], let attachment = attachments[key] {
      let job = attachment.job.flatMap { jobs[$0] }
      facts[id] = .init(
        key: key, status: attachment.outcome.status, priority: job?.priority ?? 0,
        isWaiting: (job?.dueAt ?? 0) > tally.now, isCancelled: job?.cancellation != nil)
      facts[id]?.isMade =
        Metadatum.read(attachment.outcome.metadata)?.contains { $0.key == "original.sha256" } ?? false
      if case .file(_, let path, _, _, _) = attachment.source {
        facts[id]?.isCheck = path.starts(with: RecordedCheck.place.utf8)
      }
    } else if tombstones.contains(where: { $0.id == id }) {
      facts[id] = .deleted
    }
    let (results, writes) = AttachmentDecision.decide([request], facts)
    for write in writes {
      switch write {
      case .queue(let key): queueAgain(key, &tally)
      case .queueCompleted(let key):
        if let url = attachments[key]?.outcome.url {
          attachments[key]?.kept = url
          attachments[key]?.outcome.url = nil
        }
        queueAgain(key, &tally)
      case .hasten(let key):
        if let job = attachments[key]?.job { hasten(job, tally.now) }
      case .cancel(let key, let reason):
        guard let job = attachments[key]?.job else { continue }
        jobs[job]?.cancellation = reason
        jobs[job]?.isWaiting = false
        jobs[job]?.isExpanded = false
        hasten(job, tally.now)
        if let transfer = attachments[key]?.transfer {
          leave(transfer, &tally)
          prioritize(transfer, &tally)
        }
      case .prioritize(let key, let priority):
        if let job = attachments[key]?.job { jobs[job]?.priority = priority }
        if let transfer = attachments[key]?.transfer { prioritize(transfer, &tally) }
      case .delete(let key, let person, let isForgotten):
        delete(key, by: person, isForgotten: isForgotten, &tally)
      }
      tally.touch(.attachments)
    }
    return results[0]
  }

  /// Its attempts stay on record, and are counted on.
  mutating func queueAgain(_ key: Int64, _ tally: inout ModelTally) {
    guard let before = attachments[key] else { return }
    if let url = before.outcome.url {
      names[url]?.uses -= 1
      if names[url]?.uses == 0 { names[url] = nil }
    }
    for object in before.outcome.derived {
      names[object.url]?.uses -= 1
      tally.hasUnused = true
    }
    forgetExpansion(of: key)
    tellParent(before.parent, change: 1, &tally)
    count(before.outcome.status, -1, -Self.bytes(before.outcome))
    count(.queued, 1)
    attachments[key]?.outcome = AttachmentOutcome(.queued)
    attachments[key]?.finishedAt = nil
    attachments[key]?.fingerprint = nil
    let attempts = before.attempts.keys.max() ?? 1
    let job =
      if before.kept == nil, let transfer = before.transfer {
        addLinkedJob(key, transfer, priority: 0, attempts: attempts, &tally)
      } else {
        addJob(
          JobKey(.attachment, key), .attachments, priority: 0, attempts: attempts,
          sender: before.origin.senderId)
      }
    attachments[key]?.job = job
    tally.changed.append(.attachment(key))
  }

  /// All that is of it goes; its object where that is no other's, once the store has deleted it.
  private mutating func delete(
    _ key: Int64, by person: String, isForgotten: Bool, _ tally: inout ModelTally
  ) {
    guard let attachment = remove(key) else { return }
    let origin = attachment.origin
    for (id, upload) in uploads where upload.attachmentId == origin.id {
      uploads[id] = nil
      tally.uploadsToDelete.append(id)
    }
    leaveTree(key, attachment, &tally)
    if let job = attachment.job { jobs[job] = nil }
    for key in attachment.deliveries {
      if let job = deliveries[key]?.job { jobs[job] = nil }
      deliveries[key] = nil
    }
    if let transfer = attachment.transfer {
      transfers[transfer]?.attachments.remove(key)
      leave(transfer, &tally)
      prioritize(transfer, &tally)
      tally.shrunk.insert(origin.conversationId)
    }
    (keysById[origin.id], keysByIdentity[attachment.identity]) = (nil, nil)
    if !isForgotten { deletedIdentities[attachment.identity] = origin.id }
    let isLast = !attachments.values.contains {
      $0.origin.conversationId == origin.conversationId && $0.origin.messageId == origin.messageId
    }
    if isLast {
      messages[MessageName(conversation: origin.conversationId, message: origin.messageId)] = nil
    }
    for path in [attachment.outcome.url, attachment.kept] + attachment.outcome.derived.map(\.url) {
      if let path { names[path]?.uses -= 1 }
    }
    tally.hasUnused = true
    count(attachment.outcome.status, -1, -Self.bytes(attachment.outcome))
    tombstones.append(Tombstone(id: origin.id, deletedBy: person, deletedAt: tally.now))
    tally.changed.append(.deletion(tombstones.count - 1))
    tally.hasDeleted = true
  }

  /// Paths of objects that are to be deleted, in the order of their bytes.
  var objectsToDelete: [String] {
    names.filter { $0.value.uses == 0 }.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Deliveries

  mutating func apply(_ request: DeliveryCommand, _ tally: inout ModelTally) -> CommandResult {
    var facts: [DeliveryDecision.Key: DeliveryDecision.Fact] = [:]
    if let delivery = deliveries[request.key], delivery.lease.id == request.deliveryId {
      let dueAt = delivery.job.flatMap { jobs[$0]?.dueAt } ?? 0
      facts[.init(key: request.key, id: request.deliveryId)] = .init(
        delivery.status, isWaiting: dueAt > tally.now, channel: delivery.lease.channel)
      tally.touch(.channel(delivery.lease.channel))
    }
    let (results, writes) = DeliveryDecision.decide([request], facts)
    for write in writes {
      switch write {
      case .queue(let key, let channel):
        deliveries[key]?.status = .pending
        deliveries[key]?.reason = nil
        deliveries[key]?.finishedAt = nil
        // The channel is told that earlier tries may have taken effect.
        let job = addJob(JobKey(.delivery, key), .channel(channel), priority: 0, attempts: 1)
        deliveries[key]?.job = job
        tally.changed.append(.delivery(key))
      case .hasten(let key):
        if let job = deliveries[key]?.job { hasten(job, tally.now) }
      case .drop(let key):
        let reason = Reason(stage: "", code: "dropped", message: "a person gave it up")
        endDelivery(key, .dropped, reason, &tally)
      }
    }
    return results[0]
  }
}
