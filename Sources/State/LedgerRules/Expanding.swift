import LedgerPort
import Pipeline

// Children: attachments taken out of the contents of other attachments. And parents that wait for their children.
extension LedgerRows {
  /// The most levels of a tree that a rule climbs: another program may have written a ring.
  package static var mostLevels: Int64 { 100 }

  /// The place of an attachment in its tree, and the root.
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

  /// Takes in the children of an attachment.
  mutating func addChildren(of ended: EndedAttachment, _ tally: inout ExchangeTally) throws(Failure) {
    if ended.children.isEmpty { return }
    let root = hasExpansions ? try place(of: ended.key).root : ended.key
    hasExpansions = true
    var (added, bytes): (Int64, Int64) = (0, 0)
    let identities = NewChild.identities(of: ended.children, parent: ended.origin, hash)
    for (child, identity) in zip(ended.children, identities) {
      if let (key, _, status) = try known(identity) {
        // An earlier attempt found this child.
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
        turn: try turn(of: origin.senderId, in: origin.conversationId, tally)))
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

  /// Whether the content of an attachment is lost, and the attachment is queued or failed for that reason.
  package func lacksContent(_ key: Int64) throws(Failure) -> Bool {
    guard let row = try attachment(key), row.kept == nil else { return false }
    switch row.status {
    case .failed: return row.reason?.stage == "source"
    case .queued: return try !hasUpload(ofAttachment: row.id)
    case .completed, .rejected, .quarantined, .cancelled: return false
    }
  }

  /// A known child with a lost content gets its content again.
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
    // Children of earlier attempts count, too: each end of a child is subtracted.
    let open = try queuedChildren(of: ended.key)
    try setWaiting(ended.key, open: open, ended.outcome, ended.steps)
    let waits = open > 0 && job.cancellation == nil
    try setJob(settlement.job, waits ? .expanded : .due, uncounted: 1, crashes: 0)
    if let transfer = ended.transfer { try leave(transfer: transfer, &tally) }
    tally.changed.add(attachment: ended.key)
    return .counted
  }

  /// Tells the parent that an attachment has ended or is gone (`change` is negative), or is queued again (positive). A parent
  /// without open children goes on.
  ///
  /// - Parameter parent: the parent of a deleted attachment.
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

  /// A waiting attachment that was cancelled and then wanted again, or got an open child again, waits again. False: no child is
  /// open.
  package mutating func waitForChildren(_ key: Int64) throws(Failure) -> Bool {
    guard hasExpansions, let row = try expansion(of: key), row.isWaiting, row.open > 0 else { return false }
    try setJob(JobKey(.attachment, key), .expanded, uncounted: 0, crashes: 0)
    return true
  }

  /// The attachment ends or begins again, and no longer waits.
  mutating func conclude(_ key: Int64) throws(Failure) {
    if try expansion(of: key)?.isWaiting == true { try endWaiting(key) }
  }

  /// A waiting attachment starts from its first stage again.
  package mutating func beginAgain(_ key: Int64, _ tally: inout ExchangeTally) throws(Failure) {
    try giveUpDerived(of: key, &tally)
    try forgetExpansion(of: key)
    try wakeExpanded(key)
    tally.changed.add(attachment: key)
  }

  /// An attachment starts from its first stage again. Its children stay, and count.
  mutating func forgetExpansion(of key: Int64) throws(Failure) {
    guard hasExpansions, var row = try expansion(of: key) else { return }
    if row.isWaiting { try endWaiting(key) }
    if row.microseconds == 0 { return }
    (row.open, row.microseconds) = (0, 0)
    try setExpansion(key, row)
  }

  /// An attachment gives its derived objects up. The store deletes each object after its last attachment.
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
