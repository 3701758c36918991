/// The facts of an attachment from its intake. Two of them may change: a fetched link gets a missing name, and another message may get
/// the attachment. Values of senders and servers are hostile.
///
/// A class: it goes along with all that is said of an attachment, and a copy of its texts each time would cost more than what is said.
public final class AttachmentOrigin: Sendable, Equatable {
  public let id: String
  public let conversationId: String
  public let messageId: String
  public let senderId: String
  /// As the sender gave it; of a link that was given without one, as the server did.
  public let fileName: String
  /// The media type as the sender gave it.
  public let declaredType: String?
  /// The client's own name for it.
  public let reference: String?
  /// That of the request that brought it (https://www.w3.org/TR/trace-context), so that what it causes belongs to the same trace.
  public let traceparent: String?
  /// The id of the attachment that its content was taken out of; `nil`: it was taken in itself.
  public let parentId: String?

  public init(
    id: String, conversationId: String, messageId: String, senderId: String, fileName: String,
    declaredType: String? = nil, reference: String? = nil, traceparent: String? = nil,
    parentId: String? = nil
  ) {
    self.parentId = parentId
    self.id = id
    self.conversationId = conversationId
    self.messageId = messageId
    self.senderId = senderId
    self.fileName = fileName
    self.declaredType = declaredType
    self.reference = reference
    self.traceparent = traceparent
  }

  /// By the bytes of each text: to Swift, `é` of one scalar and of two are the same.
  public static func == (one: AttachmentOrigin, other: AttachmentOrigin) -> Bool {
    one === other
      || zip(one.texts, other.texts).allSatisfy {
        switch ($0, $1) {
        case (nil, nil): true
        case (let one?, let other?): one.utf8.elementsEqual(other.utf8)
        default: false
        }
      }
  }

  private var texts: [String?] {
    [
      id, conversationId, messageId, senderId, fileName, declaredType, reference, traceparent, parentId,
    ]
  }

  /// Another with some of its values replaced.
  public func replacing(
    id: String? = nil, conversationId: String? = nil, messageId: String? = nil, senderId: String? = nil,
    fileName: String? = nil, declaredType: String? = nil
  ) -> AttachmentOrigin {
    AttachmentOrigin(
      id: id ?? self.id, conversationId: conversationId ?? self.conversationId,
      messageId: messageId ?? self.messageId, senderId: senderId ?? self.senderId,
      fileName: fileName ?? self.fileName,
      declaredType: declaredType ?? self.declaredType, reference: reference, traceparent: traceparent,
      parentId: parentId)
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
  /// The objects beside it, by name.
  public var derived: [DerivedObject] = []

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
