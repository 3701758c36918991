/// What was taken out of an attachment, as the ledger shows it.
public struct ChildRecord: Sendable {
  /// Without its steps and derived objects.
  public var attachment: AttachmentRecord
  /// Of the content as it was taken out, in bytes: a stage may have replaced it since.
  public var sizeBytes: Int64

  package init(_ attachment: AttachmentRecord, sizeBytes: Int64) {
    (self.attachment, self.sizeBytes) = (attachment, sizeBytes)
  }
}

/// What is on record of a content that comes out of an attachment.
public enum ChildStanding: Sendable, Equatable {
  /// It came out of it before, and is the attachment with this id.
  case known(String)
  /// The same, and a person has deleted it: it is not taken in again.
  case deleted
  case new
}
