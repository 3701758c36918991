import LedgerPort
import Pipeline

// What commands do to attachments and deliveries, once it is decided.
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
      // Its attempts count anew, and the channel is told that earlier ones may have taken effect.
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

  /// Takes an attachment back, or gives it to the stages again (`nil`). What it waits for ends at once.
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

  /// With its transfer, where it has one.
  mutating func prioritize(attachment key: Int64, _ priority: Int64, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    try setPriority(JobKey(.attachment, key), priority)
    if let transfer = try transfer(of: key) { try prioritize(transfer: transfer, &tally) }
  }

  /// Queues an attachment that has ended, as if it had just been taken in. Its earlier attempts stay on record, and events emitted
  /// before are not emitted again.
  ///
  /// - Parameter keepsObject: its object is there, and stays until an attempt leaves another: it may be all that is left of the content.
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
    // Attempts that left no steps were some, too: the next is not the first.
    let earlier = try lastAttempt(of: key) ?? 1
    let turn = try turn(of: row.senderId)
    if kept == nil, let transfer = try transfer(of: key) {
      try self.await(transfer, for: key, turn: turn, priority: 0, earlier: earlier, &tally)
    } else {
      try addJob(
        NewJob(
          JobKey(.attachment, key), .attachments, dueAt: tally.time, earlier: earlier, turn: turn))
    }
    tally.changed.add(attachment: key)
  }

  /// Deletes all that is of an attachment. Its object is to be deleted from the store where it is no other's.
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
    if let path = row.url { try giveUpName(path) }
    if let path = row.kept { try giveUpName(path) }
    try count(row.status, -1, bytes: -row.countedBytes)
    let tombstone = try addTombstone(
      row.id, identity: isForgotten ? nil : row.identity, by: person, at: tally.now)
    tally.changed.add(deletion: tombstone)
    (tally.hasDeleted, tally.hasUnused) = (true, true)
  }
}
