import LedgerPort
import Pipeline

// The writes that commands about attachments and deliveries decide.
extension LedgerRows {
  package mutating func store(_ write: AttachmentDecision.Write, _ tally: inout ExchangeTally) throws(Failure)
  {
    switch write {
    case .queue(let key): try queueAgain(key, &tally)
    case .queueCompleted(let key): try queueAgain(key, keepsObject: true, &tally)
    case .hasten(let key): try hasten(JobKey(.attachment, key), tally.time)
    case .cancel(let key, let reason): try cancel(key, reason, &tally)
    case .prioritize(let key, let priority): try prioritize(attachment: key, priority, &tally)
    case .delete(let key, let person, let isForgotten):
      try delete(key, by: person, isForgotten: isForgotten, &tally)
    }
    tally.touch(.attachments)
  }

  package mutating func store(_ write: DeliveryDecision.Write, _ tally: inout ExchangeTally) throws(Failure) {
    switch write {
    case .queue(let key, let channel):
      try reopenDelivery(key)
      // Attempts count from the beginning; the channel learns that earlier attempts may have succeeded.
      try addJob(NewJob(JobKey(.delivery, key), .channel(channel), dueAt: tally.time, earlier: 1))
      tally.changed.add(delivery: key)
    case .hasten(let key): try hasten(JobKey(.delivery, key), tally.time)
    case .drop(let key):
      try removeJob(JobKey(.delivery, key))
      let reason = Reason(stage: "", code: "dropped", message: "a person gave it up")
      try endDelivery(key, .dropped, reason, at: tally.now)
      tally.changed.add(delivery: key)
    }
  }

  /// Cancels an attachment, or lifts its cancellation (`nil`). A cancelled attachment waits for nothing.
  private mutating func cancel(_ key: Int64, _ reason: String?, _ tally: inout ExchangeTally) throws(Failure)
  {
    let job = JobKey(.attachment, key)
    if let row = try self.job(job) {
      try setCancellation(job, reason)
      switch row.state {
      case .waiting, .expanded: try setJob(job, .due, uncounted: 0, crashes: 0)
      case .scheduled: try hasten(job, tally.time)
      case .due, .leased: break
      }
    }
    guard let transfer = try transfer(of: key) else { return }
    try leave(transfer: transfer, &tally)
    try prioritize(transfer: transfer, &tally)
  }

  /// Sets the priority of an attachment, and of its transfer.
  mutating func prioritize(attachment key: Int64, _ priority: Int64, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    try setPriority(JobKey(.attachment, key), priority)
    if let transfer = try transfer(of: key) { try prioritize(transfer: transfer, &tally) }
  }

  /// Queues an ended attachment again. Its attempts and events stay on record, and no event is sent twice.
  ///
  /// - Parameter keepsObject: the object stays until an attempt replaces it: the source may be gone.
  package mutating func queueAgain(
    _ key: Int64, keepsObject: Bool = false, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard let row = try attachment(key) else { return }
    try giveUpDerived(of: key, &tally)
    try forgetExpansion(of: key)
    try tellParent(of: key, change: 1, &tally)
    try reopenAttachment(key)
    var kept = row.kept
    if let url = row.url {
      if keepsObject {
        try setKept(key, url)
        kept = url
      } else {
        try leaveName(url)
      }
    }
    try count(row.status, -1, bytes: -row.countedBytes)
    try count(.queued, 1, bytes: 0)
    // An attempt without steps has no record. So the next attempt is at least the second.
    let earlier = try lastAttempt(of: key) ?? 1
    let turn = try turn(of: row.senderId, in: row.conversationId, tally)
    if kept == nil, let transfer = try transfer(of: key) {
      try self.await(transfer, for: key, turn: turn, priority: 0, earlier: earlier, &tally)
    } else {
      try addJob(
        NewJob(
          JobKey(.attachment, key), .attachments, dueAt: tally.time, earlier: earlier, turn: turn))
    }
    tally.changed.add(attachment: key)
  }

  /// Deletes an attachment with all its rows. The store deletes its object after the last attachment.
  private mutating func delete(
    _ key: Int64, by person: String, isForgotten: Bool, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard let row = try attachment(key) else { return }
    try removeHistory(of: key)
    try removeJob(JobKey(.attachment, key))
    if let transfer = try transfer(of: key) {
      try removeLink(key, row)
      try leave(transfer: transfer, &tally)
      try prioritize(transfer: transfer, &tally)
    }
    tally.uploadsToDelete += try removeUploads(ofAttachment: row.id)
    try giveUpDerived(of: key, &tally)
    try leaveTree(key, row, &tally)
    try removeAttachment(key, row)
    try noteMessage(row.messageId, in: row.conversationId, &tally)
    if let path = row.url { try giveUpName(path) }
    if let path = row.kept { try giveUpName(path) }
    try count(row.status, -1, bytes: -row.countedBytes)
    let tombstone = try addTombstone(
      row.id, identity: isForgotten ? nil : row.identity, by: person, at: tally.now)
    tally.changed.add(deletion: tombstone)
    tally.deletedAttachments.append(row.id)
    (tally.hasDeleted, tally.hasUnused) = (true, true)
  }
}
