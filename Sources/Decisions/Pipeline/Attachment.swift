/// What is said of an attachment when it is taken in. It never changes. What the sender chose is hostile.
public struct AttachmentOrigin: Sendable, Equatable {
  public var id: String
  public var conversationId: String
  public var messageId: String
  public var senderId: String
  /// As the sender gave it.
  public var fileName: String
  /// The media type as the sender gave it.
  public var declaredType: String?
  /// The client's own name for it.
  public var reference: String?

  public init(
    id: String, conversationId: String, messageId: String, senderId: String, fileName: String,
    declaredType: String? = nil, reference: String? = nil
  ) {
    self.id = id
    self.conversationId = conversationId
    self.messageId = messageId
    self.senderId = senderId
    self.fileName = fileName
    self.declaredType = declaredType
    self.reference = reference
  }
}

/// What became of an attachment.
public struct AttachmentOutcome: Sendable, Equatable {
  public var status: Status
  /// Why it was not completed.
  public var reason: Reason?
  public var mediaType: String?
  public var sizeBytes: Int64?
  public var sha256: [UInt8]?
  /// A JSON object.
  public var metadata: String
  /// Where its object lies, relative to the store.
  public var url: String?

  public init(
    _ status: Status, reason: Reason? = nil, mediaType: String? = nil, sizeBytes: Int64? = nil,
    sha256: [UInt8]? = nil, metadata: String = "{}", url: String? = nil
  ) {
    self.status = status
    self.reason = reason
    self.mediaType = mediaType
    self.sizeBytes = sizeBytes
    self.sha256 = sha256
    self.metadata = metadata
    self.url = url
  }
}
