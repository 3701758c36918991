import Pipeline

/// One piece of work for a worker: an attachment, or an event to deliver, and the stages to run for it.
public struct Work: Sendable {
  /// Identifies it among all work of this run.
  public var serial: UInt64
  /// The worker's stages to run: from `first` up to, not including, `end`.
  public var first: Int
  public var end: Int
  public var attempt: Int
  public var origin: AttachmentOrigin
  public var mediaType: String?
  public var sha256: String?
  public var twin: String?
  /// The content's file when it was opened.
  public var file: FileState
  /// `queued` while the outcome is open.
  public var outcome: Status
  public var reason: Reason?
  public var metadata: [Metadatum]
  public var event: Event?

  public struct Event: Sendable {
    public var id: String
    public var type: String
    public var recipient: String
    public var body: String

    public init(id: String, type: String, recipient: String, body: String) {
      self.id = id
      self.type = type
      self.recipient = recipient
      self.body = body
    }
  }

  public init(
    _ origin: AttachmentOrigin, serial: UInt64, first: Int, end: Int, attempt: Int, mediaType: String? = nil,
    sha256: String? = nil, twin: String? = nil, file: FileState = FileState(),
    outcome: Status = .queued, reason: Reason? = nil, metadata: [Metadatum] = [], event: Event? = nil
  ) {
    self.serial = serial
    self.first = first
    self.end = end
    self.attempt = attempt
    self.origin = origin
    self.mediaType = mediaType
    self.sha256 = sha256
    self.twin = twin
    self.file = file
    self.outcome = outcome
    self.reason = reason
    self.metadata = metadata
    self.event = event
  }

  /// The frame, which the worker reads in place with ``WorkInput``.
  public var frame: [UInt8] {
    var writer = FrameWriter(.work)
    writer.write(serial)
    writer.write(UInt8(first))
    writer.write(UInt8(end))
    writer.write(UInt32(clamping: attempt))
    writer.write(Self.number(of: outcome))
    writer.write(file.size)
    writer.write(file.modified)
    writer.write(file.changed)
    writer.write(origin.id)
    writer.write(origin.conversationId)
    writer.write(origin.messageId)
    writer.write(origin.senderId)
    writer.write(origin.fileName)
    writer.write(origin.declaredType)
    writer.write(mediaType)
    writer.write(sha256)
    writer.write(twin)
    writer.write(reason?.stage)
    writer.write(reason?.code)
    writer.write(reason?.message)
    writer.write(metadata) { writer, datum in
      writer.write(datum.key)
      writer.write(datum.value.text)
    }
    writer.write(event != nil)
    if let event {
      writer.write(event.id)
      writer.write(event.type)
      writer.write(event.recipient)
      writer.write(event.body)
    }
    return writer.bytes
  }

  /// The contract's numbers of outcomes.
  private static func number(of status: Status) -> UInt32 {
    switch status {
    case .queued: 0
    case .completed: 1
    case .rejected: 2
    case .failed: 3
    case .quarantined: 4
    }
  }
}
