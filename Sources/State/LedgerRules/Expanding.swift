import LedgerPort
import Pipeline

// Attachments that were taken out of others, and those that wait for them.
extension LedgerRows {
  /// Levels of a tree that are looked at, at most: a ledger that another program has written may have a ring.
  package static var mostLevels: Int64 { 100 }

  /// Where an attachment stands in its tree, and which its root is.
  package func place(of key: Int64) throws(Failure) -> (place: TreePlace, root: Int64) {
    var place = TreePlace()
    var root = key
    while place.depth < Self.mostLevels, let parent = try parent(of: root) {
      root = parent
      place.depth += 1
    }
    if let tree = try expansion(of: root) {
      (place.contents, place.bytes, place.microseconds) = (tree.contents, tree.bytes, tree.microseconds)
    }
    return (place, root)
  }

  // MARK: Taking in

  /// Why an attachment cannot have its children; `nil`: it can.
  func problem(with ended: EndedAttachment) throws(Failure) -> SettlementOutcome? {
    let children = try newChildren(of: ended)
    let wanted = ChildRoom(contents: Int64(children.count), bytes: children.reduce(0) { $0 + $1.sizeBytes })
    let place = hasExpansions ? try place(of: ended.key).place : TreePlace()
    return ended.limits.problem(with: wanted, at: place).map {
      .tooManyChildren(code: $0.code, message: $0.message)
    }
  }

  /// The children without a record. A tree counts the other children already, or a person has deleted them.
  private func newChildren(of ended: EndedAttachment) throws(Failure) -> [NewChild] {
    guard hasExpansions, try expansion(of: ended.key) != nil else { return ended.children }
    let identities = NewChild.identities(of: ended.children, parent: ended.origin, hash)
    var new: [NewChild] = []
    for (child, identity) in zip(ended.children, identities) {
      if try known(identity) != nil { continue }
      if try deleted(identity) == nil { new.append(child) }
    }
    return new
  }

  /// Takes in what was taken out of an attachment.
  mutating func addChildren(of ended: EndedAttachment, _ tally: inout ExchangeTally) throws(Failure) {
    if ended.children.isEmpty { return }
    let root = hasExpansions ? try place(of: ended.key).root : ended.key
    hasExpansions = true
    var (added, bytes): (Int64, Int64) = (0, 0)
    let identities = NewChild.identities(of: ended.children, parent: ended.origin, hash)
    for (child, identity) in zip(ended.children, identities) {
      if let (key, _, status) = try known(identity) {
        // It came out of it before.
        if try lacksContent(key) {
          try give(child, to: key, status, &tally)
        } else {
          tally.uploadsToDelete.append(child.uploadId)
        }
      } else if try deleted(identity) != nil {
        tally.uploadsToDelete.append(child.uploadId)
      } else {
        try add(child, identity, of: ended, &tally)
        (added, bytes) = (added + 1, bytes + child.sizeBytes)
      }
    }
    try count(.queued, added, bytes: 0)
    for key in Set([ended.key, root]).sorted() {
      var row = try expansion(of: key) ?? ExpansionRow()
      row.contents += added
      row.bytes += bytes
      try setExpansion(key, row)
    }
    tally.touch(.attachments)
  }

  private mutating func add(
    _ child: NewChild, _ identity: [UInt8], of parent: EndedAttachment, _ tally: inout ExchangeTally
  ) throws(Failure) {
    let origin = parent.origin
    let id = nextId()
    var item = IntakeItem(
      conversationId: origin.conversationId, messageId: origin.messageId, fileName: child.fileName,
      declaredType: child.declaredType, source: child.source, sourceSize: child.sizeBytes,
      sourceModified: child.modified)
    item.traceparent = origin.traceparent
    let key = try addAttachment(
      item, id: id, identity: identity, messageId: origin.messageId, parent: parent.key, at: tally.now)
    try addJob(
      NewJob(
        JobKey(.attachment, key), .attachments, priority: parent.priority, dueAt: tally.time,
        turn: try turn(of: origin.senderId)))
    try addUpload(child, id, sender: origin.senderId, tally.now)
    tally.changed.add(attachment: key)
  }

  private mutating func addUpload(_ child: NewChild, _ id: String, sender: String, _ now: Int64)
    throws(Failure)
  {
    try setUpload(
      UploadRecord(
        id: child.uploadId, owner: sender, role: .service, length: child.sizeBytes, metadata: "",
        createdAt: now, expiresAt: now, attachmentId: id))
  }

  // MARK: Lost contents

  /// Whether an attachment has nothing to be read from, and waits to be read or has failed since it could not be.
  package func lacksContent(_ key: Int64) throws(Failure) -> Bool {
    guard let row = try attachment(key), row.kept == nil else { return false }
    switch row.status {
    case .failed: return row.reason?.stage == "source"
    case .queued: return try !hasUpload(ofAttachment: row.id)
    case .completed, .rejected, .quarantined, .cancelled: return false
    }
  }

  /// The content of a child that came out of its parent before was lost, and is here again.
  private mutating func give(
    _ child: NewChild, to key: Int64, _ status: Status, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard let row = try attachment(key) else { return }
    tally.uploadsToDelete += try removeUploads(ofAttachment: row.id)
    try setSource(key, child.source, modified: child.modified)
    try addUpload(child, row.id, sender: row.senderId, tally.now)
    if status != .queued { try queueAgain(key, &tally) }
  }

  // MARK: Waiting

  /// Lets an attachment wait for its children.
  mutating func settle(
    _ settlement: Settlement, expanded ended: EndedAttachment, _ tally: inout ExchangeTally
  ) throws(Failure) -> SettlementOutcome {
    guard let job = try held(settlement) else { return .leaseLost }
    if let problem = try problem(with: ended) { return problem }
    let url = ended.outcome.url == ended.keptObject ? nil : ended.outcome.url
    if let refusal = try takeNames(of: ended, url) {
      try setJob(settlement.job, .due, uncounted: 1, crashes: 0)
      return refusal
    }
    if let url {
      try setKept(ended.key, url)
      if let replaced = ended.keptObject { try giveUp(replaced, &tally) }
    }
    hasExpansions = true
    try replaceDerived(of: ended, &tally)
    try addChildren(of: ended, &tally)
    if try expansion(of: ended.key) == nil { try setExpansion(ended.key, ExpansionRow()) }
    // Also those that came out of it before its stages were changed: as these end, they are taken off.
    let open = try queuedChildren(of: ended.key)
    try setWaiting(ended.key, open: open, ended.outcome, ended.steps)
    let waits = open > 0 && job.cancellation == nil
    try setJob(settlement.job, waits ? .expanded : .due, uncounted: 1, crashes: 0)
    if let transfer = ended.transfer { try leave(transfer: transfer, &tally) }
    tally.changed.add(attachment: ended.key)
    return .counted
  }

  /// An attachment has ended, or is gone, or (`change` is 1) is worked on again: what waits for it may go on.
  ///
  /// - Parameter parent: of one that is gone.
  package mutating func tellParent(
    of key: Int64, parent known: Int64? = nil, change: Int64, _ tally: inout ExchangeTally
  ) throws(Failure) {
    guard hasExpansions else { return }
    let parent = known == nil ? try parent(of: key) : known
    guard let parent, var row = try expansion(of: parent), row.isWaiting, row.open + change >= 0 else {
      return
    }
    row.open += change
    try setExpansion(parent, row)
    guard row.open == 0 else { return }
    try wakeExpanded(parent)
    tally.touch(.attachments)
  }

  private mutating func wakeExpanded(_ key: Int64) throws(Failure) {
    let job = JobKey(.attachment, key)
    if try self.job(job)?.state == .expanded { try setJob(job, .due, uncounted: 0, crashes: 0) }
  }

  /// A person took an attachment back while it waited for its children, and then wanted it after all, or wants one of these again:
  /// it waits again. False: it waits for none.
  package mutating func waitForChildren(_ key: Int64) throws(Failure) -> Bool {
    guard hasExpansions, let row = try expansion(of: key), row.isWaiting, row.open > 0 else { return false }
    try setJob(JobKey(.attachment, key), .expanded, uncounted: 0, crashes: 0)
    return true
  }

  /// It no longer waits: it ends, or begins again.
  mutating func conclude(_ key: Int64) throws(Failure) {
    if try expansion(of: key)?.isWaiting == true { try endWaiting(key) }
  }

  /// An attachment that waits for its children is worked on from its beginning.
  package mutating func beginAgain(_ key: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    try giveUpDerived(of: key, &tally)
    try forgetExpansion(of: key)
    try wakeExpanded(key)
    tally.changed.add(attachment: key)
  }

  /// An attachment is worked on again from its beginning. Its children stay, and count.
  mutating func forgetExpansion(of key: Int64) throws(Failure) {
    guard hasExpansions, var row = try expansion(of: key) else { return }
    if row.isWaiting { try endWaiting(key) }
    if row.microseconds == 0 { return }
    (row.open, row.microseconds) = (0, 0)
    try setExpansion(key, row)
  }

  /// An attachment has no derived objects any more. Those that are no other's are to be deleted from the store.
  mutating func giveUpDerived(of key: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    let objects = try derived(of: key)
    if objects.isEmpty { return }
    try setDerived(key, [])
    for object in objects { try giveUp(object.url, &tally) }
  }

  /// An attachment leaves its tree. Its parent adopts its children.
  mutating func leaveTree(_ key: Int64, _ gone: AttachmentRow, _ tally: inout ExchangeTally) throws(Failure) {
    guard hasExpansions else { return }
    let queued = try queuedChildren(of: key)
    try moveChildren(of: key, to: gone.parent)
    try setExpansion(key, nil)
    guard let parent = gone.parent else { return }
    for place in Set([parent, try place(of: parent).root]).sorted() {
      guard var row = try expansion(of: place) else { continue }
      row.contents = max(row.contents - 1, 0)
      row.bytes = max(row.bytes - gone.sourceSize, 0)
      try setExpansion(place, row)
    }
    if queued > 0 { try tellParent(of: key, parent: parent, change: queued, &tally) }
    if gone.status == .queued { try tellParent(of: key, parent: parent, change: -1, &tally) }
  }
}
