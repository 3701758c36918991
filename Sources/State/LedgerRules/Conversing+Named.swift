import LedgerPort
import Pipeline
import Platform

// Attachments that a new message names.
extension LedgerRows {
  /// The reason against a named attachment; `nil`: the message can have all.
  func refusal(of named: NamedAttachments, by sender: String) throws(Failure)
    -> ConversationResult.Refusal?
  {
    if named.count > NamedAttachments.most {
      return .invalid("attachments", "names at most \(NamedAttachments.most) attachments, uploads and links")
    }
    for id in named.ids {
      if let refusal = try refusal(ofAttachment: id, by: sender) { return refusal }
    }
    for id in named.uploads {
      guard let upload = try row(ofUpload: id), upload.concat == nil || upload.attachmentId != nil else {
        return .invalid("uploads", "has an upload that is not there: '\(id)'")
      }
      if let attachment = upload.attachmentId {
        if let refusal = try refusal(ofAttachment: attachment, by: sender) { return refusal }
      } else if upload.message != nil {
        return .conflict("the upload '\(id)' belongs to another message")
      }
    }
    if !named.links.isEmpty && !hasSealer {
      return .conflict("the pipeline of this server fetches no links")
    }
    return nil
  }

  private func refusal(ofAttachment id: String, by sender: String) throws(Failure)
    -> ConversationResult.Refusal?
  {
    guard let record = try record(ofAttachment: id) else {
      return .conflict("the attachment '\(id)' was deleted")
    }
    if try isMovable(record, by: sender) { return nil }
    guard record.outcome.status == .completed, let url = record.outcome.url,
      try uses(ofName: url).map({ $0 > 0 }) == true
    else {
      return .conflict(
        record.outcome.status == .queued
          ? "the attachment '\(id)' is still being checked; name it once it is completed"
          : "the attachment '\(id)' is \(record.outcome.status.rawValue), and has no content to forward")
    }
    return nil
  }

  /// Whether an attachment is the sender's alone and belongs to no conversation.
  private func isMovable(_ record: AttachmentRecord, by sender: String) throws(Failure) -> Bool {
    let origin = record.origin
    guard Self.isSame(origin.senderId, sender), origin.parentId == nil,
      try conversation(origin.conversationId) == nil,
      try participants(ofMessage: origin.messageId, in: origin.conversationId).allSatisfy({
        Self.isSame($0, sender)
      })
    else { return false }
    // Its contents move, too. Another attachment would stay behind.
    let all = try attachmentIds(ofMessage: origin.messageId, in: origin.conversationId)
    return Set(all) == Set(try [origin.id] + contents(of: record.key))
  }

  /// Gives a new message the attachments that it names. Each was found to be possible.
  mutating func attach(
    _ named: NamedAttachments, to message: Message, _ tally: inout ExchangeTally
  ) throws(Failure) {
    for id in named.uploads {
      guard var upload = try row(ofUpload: id) else { continue }
      if let attachment = upload.attachmentId {
        try attach(attachment, to: message, &tally)
      } else {
        upload.message = UploadRecord.Place(message.conversationId, message.id)
        try setUpload(upload)
      }
    }
    for id in named.ids { try attach(id, to: message, &tally) }
    var links = named.links
    for index in links.indices {
      (links[index].conversationId, links[index].messageId) = (message.conversationId, message.id)
      (links[index].senderId, links[index].isOfUser) = (message.senderId, true)
    }
    if !links.isEmpty { _ = try takeIn(links, &tally) }
  }

  private mutating func attach(_ id: String, to message: Message, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    guard let record = try record(ofAttachment: id) else { return }
    if try isMovable(record, by: message.senderId) {
      let keys = try moveAttachments(
        ofMessage: record.origin.messageId, in: record.origin.conversationId, to: message.id,
        in: message.conversationId)
      for key in keys { tally.changed.add(attachment: key) }
    } else {
      try forward(record, to: message, &tally)
    }
  }

  /// Adds a completed attachment with the content of another.
  private mutating func forward(
    _ record: AttachmentRecord, to message: Message, _ tally: inout ExchangeTally
  ) throws(Failure) {
    let item = IntakeItem(
      conversationId: message.conversationId, messageId: message.id, senderId: message.senderId,
      fileName: record.origin.fileName, declaredType: record.origin.declaredType,
      source: Array((AttachmentRecord.forwarded + record.origin.id).utf8),
      sourceSize: record.outcome.sizeBytes ?? 0)
    let identity = item.identity(transfer: [], hash)
    // A message names it twice.
    if try known(identity) != nil { return }
    var outcome = record.outcome
    outcome.derived = try derived(of: record.key)
    let id = nextId()
    let key = try addAttachment(
      item, id: id, identity: identity, messageId: message.id, parent: nil, at: tally.now)
    try count(.queued, 1, bytes: 0)
    let attachment = LeasedAttachment(
      key: key,
      origin: record.origin.replacing(
        id: id, conversationId: message.conversationId,
        messageId: message.id, senderId: message.senderId),
      participants: "[]", source: item.attachmentSource)
    let ended = EndedAttachment(attachment, outcome, attempt: 1, steps: [], events: [])
    _ = try takeNames(of: ended, outcome.url)
    if try end(ended, &tally) { tally.addEnded(outcome) }
    tally.changed.add(attachment: key)
  }
}
