import LedgerPort
import LedgerRules
import Pipeline
import Platform

extension ModelTransaction {
  func attachment(_ key: Int64) -> AttachmentRow? {
    guard let attachment = rows.attachments[key] else { return nil }
    let (origin, outcome) = (attachment.origin, attachment.outcome)
    return AttachmentRow(
      id: origin.id, identity: attachment.identity, status: outcome.status,
      reason: outcome.reason.map { ($0.stage, $0.code) }, sizeBytes: outcome.sizeBytes, url: outcome.url,
      kept: attachment.kept, conversationId: origin.conversationId, messageId: origin.messageId,
      senderId: origin.senderId, parent: attachment.parent, sourceSize: ModelRows.size(of: attachment.source))
  }

  mutating func addAttachment(
    _ item: IntakeItem, id: String, identity: [UInt8], messageId: String, parent: Int64?, at now: Int64
  ) -> Int64 {
    let message = rows.messages[.init(conversation: item.conversationId, message: messageId)]
    let key = ModelRows.next(rows.attachments.keys)
    let origin = AttachmentOrigin(
      id: id, conversationId: item.conversationId, messageId: messageId, senderId: message?.sender ?? "",
      fileName: item.fileName, declaredType: item.declaredType, reference: item.reference,
      traceparent: item.traceparent, parentId: parent.flatMap { rows.attachments[$0]?.origin.id })
    // A link has its shown name in place of a path.
    let source = AttachmentSource.file(
      host: nil, path: item.link.map { Array($0.name.utf8) } ?? item.source, size: item.sourceSize,
      modified: item.sourceModified, folderDevice: item.link == nil ? item.folderDevice : nil)
    var attachment = ModelRows.Attachment(
      origin: origin, ownMessage: item.messageId == nil, identity: identity, source: source,
      participants: message?.participants ?? [], createdAt: now)
    attachment.parent = parent
    rows.add(attachment, key)
    (rows.keysByIdentity[identity], rows.keysById[id]) = (key, key)
    return key
  }

  mutating func endAttachment(
    _ key: Int64, _ outcome: AttachmentOutcome, fingerprint: String?, at now: Int64
  ) -> Bool {
    guard var attachment = rows.attachments[key], attachment.outcome.status == .queued else { return false }
    let derived = attachment.outcome.derived
    (attachment.outcome, attachment.finishedAt, attachment.fingerprint) = (outcome, now, fingerprint)
    attachment.outcome.derived = derived
    rows.attachments[key] = attachment
    return true
  }

  mutating func reopenAttachment(_ key: Int64) {
    rows.attachments[key]?.outcome = AttachmentOutcome(.queued)
    rows.attachments[key]?.finishedAt = nil
    rows.attachments[key]?.fingerprint = nil
  }

  mutating func setKept(_ key: Int64, _ path: String?) { rows.attachments[key]?.kept = path }

  mutating func setSource(_ key: Int64, _ path: [UInt8], modified: Int64?) {
    guard case .file(let host, _, let size, let before, let device)? = rows.attachments[key]?.source else {
      return
    }
    rows.attachments[key]?.source = .file(
      host: host, path: path, size: size, modified: modified ?? before, folderDevice: device)
  }

  mutating func nameUnnamed(_ key: Int64, _ name: String) {
    guard let origin = rows.attachments[key]?.origin, origin.fileName == IntakeItem.unnamed else { return }
    rows.attachments[key]?.origin = origin.replacing(fileName: name)
  }

  mutating func removeAttachment(_ key: Int64, _ row: AttachmentRow) {
    guard let gone = rows.remove(key) else { return }
    (rows.keysById[row.id], rows.keysByIdentity[gone.identity]) = (nil, nil)
    let isLast = !rows.attachments.values.contains {
      $0.origin.conversationId == row.conversationId && $0.origin.messageId == row.messageId
    }
    let name = ModelRows.MessageName(conversation: row.conversationId, message: row.messageId)
    if isLast && rows.messages[name]?.written == nil { rows.messages[name] = nil }
  }

  func known(_ identity: [UInt8]) -> (key: Int64, id: String, status: Status)? {
    guard let key = rows.keysByIdentity[identity], let attachment = rows.attachments[key] else { return nil }
    return (key, attachment.origin.id, attachment.outcome.status)
  }

  func deleted(_ identity: [UInt8]) -> String? { rows.deletedIdentities[identity] }

  mutating func addTombstone(_ id: String, identity: [UInt8]?, by person: String, at now: Int64) -> Int64 {
    if let identity { rows.deletedIdentities[identity] = id }
    rows.tombstones.append(Tombstone(id: id, deletedBy: person, deletedAt: now))
    return Int64(rows.tombstones.count - 1)
  }

  mutating func count(_ status: Status, _ attachments: Int64, bytes: Int64) {
    rows.counts[status, default: (0, 0)].count += attachments
    rows.counts[status, default: (0, 0)].bytes += bytes
  }

  mutating func addMessage(_ item: IntakeItem, id: String, at now: Int64) -> MessageRecord? {
    let name = ModelRows.MessageName(conversation: item.conversationId, message: id)
    if let known = rows.messages[name] {
      return known.record
    }
    rows.messages[name] = .init(
      sender: item.senderId, participants: item.participants, isOfUser: item.isOfUser)
    return nil
  }

  mutating func claimMessage(_ id: String, of conversationId: String) {
    rows.messages[ModelRows.MessageName(conversation: conversationId, message: id)]?.isOfUser = false
  }

  mutating func renameMessage(_ id: String, of conversationId: String, to other: String) -> [Int64] {
    let name = ModelRows.MessageName(conversation: conversationId, message: id)
    rows.messages[ModelRows.MessageName(conversation: conversationId, message: other)] = rows.messages[name]
    return moveAttachments(ofMessage: id, in: conversationId, to: other, in: conversationId)
  }

  mutating func moveAttachments(
    ofMessage id: String, in conversationId: String, to other: String, in otherConversation: String
  ) -> [Int64] {
    let keys = rows.attachments.filter {
      $0.value.origin.conversationId == conversationId && $0.value.origin.messageId == id
    }.keys.sorted()
    for key in keys {
      guard let origin = rows.attachments[key]?.origin else { continue }
      rows.attachments[key]?.origin = origin.replacing(conversationId: otherConversation, messageId: other)
      rows.attachments[key]?.ownMessage = false
    }
    let name = ModelRows.MessageName(conversation: conversationId, message: id)
    if rows.messages[name]?.written == nil { rows.messages[name] = nil }
    return keys
  }

  func participants(ofMessage id: String, in conversationId: String) -> [String] {
    rows.messages[ModelRows.MessageName(conversation: conversationId, message: id)]?.participants ?? []
  }

  func record(ofAttachment id: String) -> AttachmentRecord? {
    guard let key = rows.keysById[id], let attachment = rows.attachments[key] else { return nil }
    return AttachmentRecord(
      key: key, attachment.origin, source: attachment.source.path, attachment.outcome,
      createdAt: attachment.createdAt, finishedAt: attachment.finishedAt, steps: [],
      keptObject: attachment.kept)
  }

  func fact(ofAttachment id: String, at time: Int64) -> AttachmentDecision.Fact? {
    guard let key = rows.keysById[id], let attachment = rows.attachments[key] else {
      return rows.tombstones.contains { $0.id == id } ? .deleted : nil
    }
    let job = rows.jobs[JobKey(.attachment, key)]
    return .init(
      key: key, status: attachment.outcome.status, priority: job?.priority ?? 0,
      isWaiting: (job?.dueAt ?? .min) > time, isCancelled: job?.cancellation != nil)
  }

  func isObjectMade(_ key: Int64) -> Bool {
    let metadata = rows.attachments[key].flatMap { Metadatum.read($0.outcome.metadata) } ?? []
    return metadata.contains { $0.key == "original.sha256" }
  }

  func isCheck(_ key: Int64) -> Bool {
    guard let attachment = rows.attachments[key], attachment.transfer == nil else { return false }
    return attachment.source.path.starts(with: RecordedCheck.place.utf8)
  }

  // MARK: Attempts and events

  mutating func addAttempt(_ number: Int, of key: Int64, _ steps: [Step], at now: Int64) -> Bool {
    if rows.attachments[key]?.attempts[number] != nil { return false }
    rows.attachments[key]?.attempts[number] = steps.map {
      AttemptRecord(number: number, step: $0, recordedAt: now)
    }
    return true
  }

  func lastAttempt(of key: Int64) -> Int64? { rows.attachments[key]?.attempts.keys.max().map(Int64.init) }
  func toldTypes(of key: Int64) -> [String] { rows.attachments[key]?.told ?? [] }

  mutating func addEvent(_ event: OutgoingEvent, of attachment: Int64, at now: Int64) -> Int64 {
    rows.attachments[attachment]?.told.append(event.type)
    return 0
  }

  mutating func removeHistory(of key: Int64) {
    for delivery in rows.attachments[key]?.deliveries ?? [] {
      rows.jobs[JobKey(.delivery, delivery)] = nil
      rows.deliveries[delivery] = nil
    }
    rows.attachments[key]?.deliveries = []
    rows.attachments[key]?.attempts = [:]
    rows.attachments[key]?.told = []
  }

  // MARK: Names of objects

  mutating func takeName(_ path: String, _ sha256: [UInt8]) -> NameAnswer {
    guard let name = rows.names[path] else {
      rows.names[path] = ModelRows.Name(sha256: sha256, uses: 1)
      return .taken
    }
    if name.uses == 0 { return .objectGoes }
    if name.sha256 != sha256 { return .othersContent }
    rows.names[path]?.uses += 1
    return .taken
  }

  func uses(ofName path: String) -> Int64? { rows.names[path].map { Int64($0.uses) } }

  mutating func leaveName(_ path: String) {
    rows.names[path]?.uses -= 1
    if rows.names[path].map({ $0.uses <= 0 }) ?? false { rows.names[path] = nil }
  }

  mutating func giveUpName(_ path: String) {
    if let uses = rows.names[path]?.uses { rows.names[path]?.uses = max(uses - 1, 0) }
  }

  func derived(of key: Int64) -> [DerivedObject] { rows.attachments[key]?.outcome.derived ?? [] }

  mutating func setDerived(_ key: Int64, _ objects: [DerivedObject]) {
    rows.attachments[key]?.outcome.derived = objects
    let all = Set(rows.attachments.values.flatMap { $0.outcome.derived.map(\.sha256) })
    rows.texts = rows.texts.filter { all.contains($0.key) }
  }

  mutating func keepText(_ text: ContentText) -> Bool {
    if rows.texts[text.sha256] != nil { return false }
    rows.texts[text.sha256] = text.text
    return true
  }

  func messages(withDerived sha256: [UInt8]) -> [Message] {
    let names = rows.attachments.values.filter { $0.outcome.derived.contains { $0.sha256 == sha256 } }.map {
      ModelRows.MessageName(conversation: $0.origin.conversationId, message: $0.origin.messageId)
    }
    return Set(names).compactMap { rows.messages[$0]?.written }
  }

  // MARK: Trees

  func parent(of key: Int64) -> Int64? { rows.attachments[key]?.parent }
  func expansion(of key: Int64) -> ExpansionRow? { rows.attachments[key]?.expansion?.row }

  mutating func setExpansion(_ key: Int64, _ row: ExpansionRow?) {
    guard var row else {
      rows.attachments[key]?.expansion = nil
      return
    }
    let before = rows.attachments[key]?.expansion
    row.isWaiting = before?.row.isWaiting ?? false
    rows.attachments[key]?.expansion = .init(row: row, said: before?.said)
  }

  mutating func setWaiting(_ key: Int64, open: Int64, _ outcome: AttachmentOutcome, _ steps: [Step]) {
    rows.attachments[key]?.expansion?.row.open = open
    rows.attachments[key]?.expansion?.row.isWaiting = true
    rows.attachments[key]?.expansion?.said = (outcome, steps)
  }

  mutating func endWaiting(_ key: Int64) {
    rows.attachments[key]?.expansion?.row.open = 0
    rows.attachments[key]?.expansion?.row.isWaiting = false
    rows.attachments[key]?.expansion?.said = nil
  }

  func queuedChildren(of key: Int64) -> Int64 {
    Int64(rows.attachments.values.count { $0.parent == key && $0.outcome.status == .queued })
  }

  mutating func moveChildren(of key: Int64, to parent: Int64?) {
    let id = parent.flatMap { rows.attachments[$0]?.origin.id }
    for child in rows.attachments.keys where rows.attachments[child]?.parent == key {
      guard let origin = rows.attachments[child]?.origin else { continue }
      rows.attachments[child]?.parent = parent
      rows.attachments[child]?.origin = AttachmentOrigin(
        id: origin.id, conversationId: origin.conversationId, messageId: origin.messageId,
        senderId: origin.senderId, fileName: origin.fileName, declaredType: origin.declaredType,
        reference: origin.reference, traceparent: origin.traceparent, parentId: id)
    }
  }

  func hasUnfinishedContents(_ key: Int64) -> Bool {
    rows.attachments.contains { child, attachment in
      attachment.parent == key
        && (![.queued, .completed].contains(attachment.outcome.status) || hasUnfinishedContents(child))
    }
  }

  func contents(of key: Int64) -> [String] {
    rows.attachments.flatMap { child, attachment in
      attachment.parent == key ? [attachment.origin.id] + contents(of: child) : []
    }
  }
}
