import LedgerPort
import Pipeline

extension AttachmentFilter {
  /// Whether an attachment answers to all that is said.
  func matches(_ attachment: ModelRows.Attachment, _ rows: ModelRows) -> Bool {
    let (origin, outcome) = (attachment.origin, attachment.outcome)
    func agrees<Value: Equatable>(_ wanted: Value?, _ value: Value?) -> Bool {
      wanted == nil || wanted == value
    }
    return statuses.contains(outcome.status) && ids?.contains(origin.id) ?? true
      && codes.map { codes in outcome.reason.map { codes.contains($0.code) } ?? false } ?? true
      && agrees(stage, outcome.reason?.stage)
      && agrees(conversationId, origin.conversationId)
      && agrees(messageId, origin.messageId) && agrees(sha256, outcome.sha256)
      && agrees(senderId, origin.senderId) && agrees(reference, origin.reference)
      && parentId.map { rows.ancestors(of: attachment).contains($0) } ?? true
      && minimumSize.map { outcome.sizeBytes ?? -1 >= $0 } ?? true
      && maximumSize.map { outcome.sizeBytes ?? .max <= $0 } ?? true
      && (!hasLink || attachment.transfer != nil) && agrees(objectPath, outcome.url)
      && agrees(source, attachment.source.path)
      && sourceStart.map { attachment.source.path.starts(with: $0) } ?? true
      && mediaType.map { Glob($0).matches(outcome.mediaType ?? "") } ?? true
      && fileName.map { Glob($0).matches(origin.fileName) } ?? true
      && since.map { attachment.createdAt >= $0 } ?? true
      && until.map { attachment.createdAt < $0 } ?? true
      && endedBefore.map { (attachment.finishedAt ?? .max) < $0 } ?? true
      && participant.map { origin.senderId == $0 || rows.readers(of: attachment).contains($0) } ?? true
  }
}
