import LedgerPort
import LedgerRules
import Pipeline
import Platform

// Attachments that were taken out of others, and those that wait for them.
extension ModelRows {
  private func place(of key: Int64) -> (place: TreePlace, root: Int64) {
    var place = TreePlace()
    var root = key
    while let parent = attachments[root]?.parent {
      root = parent
      place.depth += 1
    }
    if let expansion = attachments[root]?.expansion {
      (place.contents, place.bytes) = (expansion.contents, expansion.bytes)
      place.microseconds = expansion.microseconds
    }
    return (place, root)
  }

  mutating func addTime(of steps: [Step], _ key: Int64) {
    let root = place(of: key).root
    guard root != key, let before = attachments[root]?.expansion?.microseconds else { return }
    attachments[root]?.expansion?.microseconds = min(before + TreePlace.time(of: steps), TreePlace.longest)
  }

  func leased(_ key: Int64, _ attachment: Attachment, _ source: AttachmentSource) -> LeasedAttachment {
    var leased = LeasedAttachment(
      key: key, origin: attachment.origin, participants: JSONWriter.array(of: attachment.participants),
      source: source)
    (leased.place, leased.root) = place(of: key)
    guard let said = attachment.expansion?.said else {
      for child in attachments.values where child.parent == key {
        leased.place.contents = max(leased.place.contents - 1, 0)
        leased.place.bytes = max(leased.place.bytes - Self.size(of: child.source), 0)
      }
      return leased
    }
    var children: [Status: Int64] = [:]
    for child in attachments.values where child.parent == key {
      children[child.outcome.status, default: 0] += 1
    }
    leased.concluded = ConcludedExpansion(
      mediaType: said.outcome.mediaType, sizeBytes: said.outcome.sizeBytes,
      sha256: said.outcome.sha256.map(Hexadecimal.text),
      metadata: Metadatum.read(said.outcome.metadata) ?? [],
      url: attachment.kept, derived: attachment.outcome.derived, steps: said.steps, children: children)
    return leased
  }

  func problem(with ended: EndedAttachment, _ hash: SHA256) -> SettlementOutcome? {
    let identities = NewChild.identities(of: ended.children, parent: ended.origin, hash)
    let new = zip(ended.children, identities).filter {
      keysByIdentity[$1] == nil && deletedIdentities[$1] == nil
    }
    let wanted = ChildRoom(contents: Int64(new.count), bytes: new.reduce(0) { $0 + $1.0.sizeBytes })
    return ended.limits.problem(with: wanted, at: place(of: ended.key).place).map {
      .tooManyChildren(code: $0.code, message: $0.message)
    }
  }

  mutating func addChildren(of ended: EndedAttachment, _ tally: inout ModelTally) {
    if ended.children.isEmpty { return }
    let root = place(of: ended.key).root
    let identities = NewChild.identities(of: ended.children, parent: ended.origin, tally.maker.hash)
    var (added, bytes): (Int64, Int64) = (0, 0)
    for (child, identity) in zip(ended.children, identities) {
      if let known = keysByIdentity[identity] {
        if lacksContent(known) {
          give(child, to: known, &tally)
        } else {
          tally.uploadsToDelete.append(child.uploadId)
        }
      } else if deletedIdentities[identity] != nil {
        tally.uploadsToDelete.append(child.uploadId)
      } else {
        add(child, identity, of: ended, &tally)
        (added, bytes) = (added + 1, bytes + child.sizeBytes)
      }
    }
    for key in Set([ended.key, root]) {
      var expansion = attachments[key]?.expansion ?? Expansion()
      expansion.contents += added
      expansion.bytes += bytes
      attachments[key]?.expansion = expansion
    }
    tally.touch(.attachments)
  }

  /// It waits to be worked on, or has failed since it could not be read, and has nothing to be read from.
  private func lacksContent(_ key: Int64) -> Bool {
    guard let attachment = attachments[key], attachment.kept == nil else { return false }
    switch attachment.outcome.status {
    case .failed: return attachment.outcome.reason?.stage == "source"
    case .queued: return !uploads.values.contains { $0.attachmentId == attachment.origin.id }
    default: return false
    }
  }

  private mutating func give(_ child: NewChild, to key: Int64, _ tally: inout ModelTally) {
    guard let attachment = attachments[key], case .file(_, _, let size, _, _) = attachment.source else {
      return
    }
    let id = attachment.origin.id
    for (upload, record) in uploads where record.attachmentId == id {
      uploads[upload] = nil
      tally.uploadsToDelete.append(upload)
    }
    attachments[key]?.source = .file(
      host: nil, path: child.source, size: size, modified: child.modified, folderDevice: nil)
    uploads[child.uploadId] = UploadRecord(
      id: child.uploadId, owner: attachment.origin.senderId, role: .service, length: child.sizeBytes,
      metadata: "",
      createdAt: tally.now, expiresAt: tally.now, attachmentId: id)
    if attachment.outcome.status != .queued { queueAgain(key, &tally) }
  }

  private mutating func add(
    _ child: NewChild, _ identity: [UInt8], of ended: EndedAttachment, _ tally: inout ModelTally
  ) {
    let parent = ended.origin
    let id = tally.maker.ids.next()
    let key = Self.next(attachments.keys)
    let origin = AttachmentOrigin(
      id: id, conversationId: parent.conversationId, messageId: parent.messageId, senderId: parent.senderId,
      fileName: child.fileName, declaredType: child.declaredType, traceparent: parent.traceparent,
      parentId: parent.id)
    let source = AttachmentSource.file(
      host: nil, path: child.source, size: child.sizeBytes, modified: child.modified, folderDevice: nil)
    var attachment = Attachment(
      origin: origin, identity: identity, source: source,
      participants: attachments[ended.key]?.participants ?? [], createdAt: tally.now)
    attachment.parent = ended.key
    add(attachment, key)
    (keysByIdentity[identity], keysById[id]) = (key, key)
    let job = addJob(
      JobKey(.attachment, key), .attachments, priority: ended.priority, sender: parent.senderId)
    attachments[key]?.job = job
    uploads[child.uploadId] = UploadRecord(
      id: child.uploadId, owner: parent.senderId, role: .service, length: child.sizeBytes, metadata: "",
      createdAt: tally.now, expiresAt: tally.now, attachmentId: id)
    count(.queued, 1)
    tally.changed.append(.attachment(key))
  }

  /// The ids of what an attachment was taken out of, and of what that was taken out of, and so on.
  func ancestors(of attachment: Attachment) -> [String] {
    var ids: [String] = []
    var next = attachment.parent
    while let key = next, let parent = attachments[key] {
      ids.append(parent.origin.id)
      next = parent.parent
    }
    return ids
  }

  /// The children of an attachment that goes become those of its parent.
  mutating func leaveTree(_ key: Int64, _ gone: Attachment, _ tally: inout ModelTally) {
    let children = attachments.keys.filter { attachments[$0]?.parent == key }
    let queued = children.count { attachments[$0]?.outcome.status == .queued }
    for child in children {
      guard let origin = attachments[child]?.origin else { continue }
      attachments[child]?.parent = gone.parent
      attachments[child]?.origin = AttachmentOrigin(
        id: origin.id, conversationId: origin.conversationId, messageId: origin.messageId,
        senderId: origin.senderId, fileName: origin.fileName, declaredType: origin.declaredType,
        reference: origin.reference, traceparent: origin.traceparent, parentId: gone.origin.parentId)
    }
    if let parent = gone.parent {
      for key in Set([parent, place(of: parent).root]) {
        guard var totals = attachments[key]?.expansion else { continue }
        totals.contents = max(totals.contents - 1, 0)
        totals.bytes = max(totals.bytes - Self.size(of: gone.source), 0)
        attachments[key]?.expansion = totals
      }
    }
    if queued > 0 { tellParent(gone.parent, change: Int64(queued), &tally) }
    if gone.outcome.status == .queued { tellParent(gone.parent, change: -1, &tally) }
  }

  /// Lets an attachment wait for its children.
  mutating func expand(_ job: Job, _ ended: EndedAttachment, _ tally: inout ModelTally) -> SettlementOutcome {
    let key = ended.key
    let canHaveDerived = ended.outcome.derived.allSatisfy { object in
      names[object.url].map { $0.uses > 0 } ?? ended.stagedDerived.contains(object.name)
    }
    if !canHaveDerived {
      giveBack(job.key)
      return .conflict
    }
    if let url = ended.outcome.url, let sha256 = ended.outcome.sha256, url != ended.keptObject {
      if let name = names[url], name.sha256 != sha256 || name.uses == 0 {
        giveBack(job.key)
        return name.uses > 0 ? .pathTaken : .conflict
      }
      names[url, default: Name(sha256: sha256)].uses += 1
      attachments[key]?.kept = url
      if let replaced = ended.keptObject {
        names[replaced]?.uses -= 1
        tally.hasUnused = true
      }
    }
    giveBack(job.key)
    conclude(ended, &tally)
    let expansion = attachments[key]?.expansion ?? Expansion()
    attachments[key]?.expansion = expansion
    for object in ended.outcome.derived { names[object.url, default: Name(sha256: object.sha256)].uses += 1 }
    attachments[key]?.outcome.derived = ended.outcome.derived
    addChildren(of: ended, &tally)
    let open = Int64(attachments.values.count { $0.parent == key && $0.outcome.status == .queued })
    attachments[key]?.expansion?.open = open
    attachments[key]?.expansion?.said = (ended.outcome, ended.steps)
    jobs[job.key]?.isExpanded = open > 0 && job.cancellation == nil
    if let transfer = ended.transfer { leave(transfer, &tally) }
    tally.changed.append(.attachment(key))
    return .counted
  }

  static func size(of source: AttachmentSource) -> Int64 {
    if case .file(_, _, let size, _, _) = source { size } else { 0 }
  }

  /// Its children stay, and count.
  mutating func forgetExpansion(of key: Int64) {
    attachments[key]?.expansion?.said = nil
    attachments[key]?.expansion?.open = 0
    attachments[key]?.expansion?.microseconds = 0
  }

  func hasUnfinishedContents(_ key: Int64) -> Bool {
    attachments.contains { child, attachment in
      attachment.parent == key
        && (![.queued, .completed].contains(attachment.outcome.status) || hasUnfinishedContents(child))
    }
  }

  /// The ids of the contents at all levels below an attachment.
  func contents(of key: Int64) -> [String] {
    attachments.flatMap { child, attachment in
      attachment.parent == key ? [attachment.origin.id] + contents(of: child) : []
    }
  }

  /// It waits for its children, and was due meanwhile: a person wants it after all, or wants one of them again.
  func hasOpenChildren(_ job: Job) -> Bool {
    guard job.key.kind == .attachment, case let key = job.key.subject, job.cancellation == nil,
      let expansion = attachments[key]?.expansion
    else { return false }
    return expansion.said != nil && expansion.open > 0
  }

  mutating func tellParent(_ parent: Int64?, change: Int64, _ tally: inout ModelTally) {
    guard let parent, let expansion = attachments[parent]?.expansion, expansion.said != nil,
      expansion.open + change >= 0
    else { return }
    attachments[parent]?.expansion?.open += change
    guard expansion.open + change == 0, let job = attachments[parent]?.job else { return }
    jobs[job]?.isExpanded = false
    tally.touch(.attachments)
  }

  /// What it had while it waited for its children goes, but for what it ends with.
  mutating func conclude(_ ended: EndedAttachment, _ tally: inout ModelTally) {
    attachments[ended.key]?.expansion?.said = nil
    attachments[ended.key]?.expansion?.open = 0
    for object in attachments[ended.key]?.outcome.derived ?? [] {
      names[object.url]?.uses -= 1
      tally.hasUnused = tally.hasUnused || !ended.outcome.derived.contains(object)
    }
  }
}
