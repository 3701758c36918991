import CStage
import Glibc
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
  /// For `store` stages: the name under which the object is left.
  public var stagedName: String?
  /// The content's file when it was opened.
  public var file: FileState
  /// `queued` while the outcome is open.
  public var outcome: Status
  public var reason: Reason?
  public var metadata: [Metadatum]
  public var event: Event?
  /// What the stages may write to comes along: new content, pieces.
  public var takes = Takes()
  /// What of its children is allowed yet: how many, and their bytes in all.
  public var room = ChildRoom(contents: 0, bytes: 0)

  /// Descriptors that follow the content's, in this order.
  public struct Takes: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let content = Takes(rawValue: 1)
    public static let pieces = Takes(rawValue: 2)
  }

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
    sha256: String? = nil, twin: String? = nil, stagedName: String? = nil, file: FileState = FileState(),
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
    self.stagedName = stagedName
    self.file = file
    self.outcome = outcome
    self.reason = reason
    self.metadata = metadata
    self.event = event
  }

  public var frame: [UInt8] { withFrame { [UInt8]($0) } }

  /// The frame, which the worker reads in place with ``WorkInput``.
  public func withFrame<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var writer = FrameWriter(.work)
    writer.write(serial)
    writer.write(UInt8(first))
    writer.write(UInt8(end))
    writer.write(UInt32(clamping: attempt))
    writer.write(Self.number(of: outcome))
    writer.write(file.size)
    writer.write(file.modified)
    writer.write(file.changed)
    writer.write(takes.rawValue)
    writer.write(room.contents)
    writer.write(room.bytes)
    writer.write(origin.id)
    writer.write(origin.conversationId)
    writer.write(origin.messageId)
    writer.write(origin.senderId)
    writer.write(origin.fileName)
    writer.write(origin.declaredType)
    writer.write(mediaType)
    writer.write(sha256)
    writer.write(twin)
    writer.write(stagedName)
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
    return writer.withBytes(body)
  }

  /// The contract's numbers of outcomes.
  private static func number(of status: Status) -> UInt32 {
    switch status {
    case .queued: 0
    case .completed: 1
    case .rejected: 2
    case .failed: 3
    case .quarantined: 4
    case .cancelled: 5
    }
  }
}

// MARK: - In the worker

/// A piece of ``Work`` as received by the worker. The texts stay in the frame, each terminated by NUL, and
/// stages get pointers to them.
public final class WorkInput {
  public let serial: UInt64
  public let first: Int
  public let end: Int
  public let attachment: UnsafeMutablePointer<sluice_attachment>
  public let metadata: [(key: UnsafePointer<CChar>, value: UnsafePointer<CChar>)]
  /// Where a stage may write new content, or -1.
  public let output: Int32
  /// Where a stage may append pieces, or -1.
  public let pieces: Int32
  public let room: ChildRoom
  private let frame: UnsafeMutableRawBufferPointer
  private let descriptors: [Int32]
  private let event: UnsafeMutablePointer<sluice_event>

  /// Reads what follows the kind. On success, this object owns the frame and the descriptors; if it throws,
  /// the caller keeps them.
  ///
  /// - Parameter descriptors: of the content, of the content to be produced, and of the pieces, as far as there are any.
  public init(
    _ start: FrameReader, in frame: UnsafeMutableRawBufferPointer, descriptors: [Int32]
  ) throws(FrameError) {
    var reader = start
    func text(_ reader: inout FrameReader) throws(FrameError) -> UnsafePointer<CChar> {
      guard let text = try reader.pointer() else { throw FrameError("a text is missing") }
      return text
    }
    serial = try reader.integer(UInt64.self)
    first = Int(try reader.integer(UInt8.self))
    end = Int(try reader.integer(UInt8.self))
    let attempt = try reader.integer(UInt32.self)
    let outcome = try reader.integer(UInt32.self)
    let size = try reader.integer(Int64.self)
    let modified = try reader.integer(Int64.self)
    let changed = try reader.integer(Int64.self)
    let takes = Work.Takes(rawValue: try reader.integer(UInt8.self))
    room = ChildRoom(contents: try reader.integer(Int64.self), bytes: try reader.integer(Int64.self))
    var rest = descriptors[...]
    let content = rest.popFirst() ?? -1
    output = takes.contains(.content) ? rest.popFirst() ?? -1 : -1
    pieces = takes.contains(.pieces) ? rest.popFirst() ?? -1 : -1
    var raw = sluice_attachment()
    raw.size = UInt32(MemoryLayout<sluice_attachment>.size)
    (raw.attempt, raw.outcome, raw.content) = (attempt, outcome, content)
    (raw.content_size, raw.modified, raw.changed) = (UInt64(max(size, 0)), modified, changed)
    raw.id = try text(&reader)
    raw.conversation_id = try text(&reader)
    raw.message_id = try text(&reader)
    raw.sender_id = try text(&reader)
    raw.file_name = try text(&reader)
    raw.declared_type = try reader.pointer()
    raw.media_type = try reader.pointer()
    raw.sha256 = try reader.pointer()
    raw.twin = try reader.pointer()
    raw.staged_name = try reader.pointer()
    raw.reason_stage = try reader.pointer()
    raw.reason_code = try reader.pointer()
    raw.reason_message = try reader.pointer()
    metadata = try reader.elements(atMost: 4096) {
      (reader) throws(FrameError) -> (key: UnsafePointer<CChar>, value: UnsafePointer<CChar>) in
      (try text(&reader), try text(&reader))
    }
    var event: sluice_event?
    if try reader.boolean() {
      let id = try text(&reader)
      let type = try text(&reader)
      let recipient = try text(&reader)
      guard let body = try reader.textBytes() else { throw FrameError("an event without a body") }
      event = sluice_event(
        size: UInt32(MemoryLayout<sluice_event>.size), reserved: 0, id: id, type: type, recipient: recipient,
        body: body.baseAddress?.assumingMemoryBound(to: CChar.self), body_length: UInt64(body.count))
    }
    try reader.end()
    self.frame = frame
    self.descriptors = descriptors
    self.event = .allocate(capacity: 1)
    if let event {
      self.event.initialize(to: event)
      raw.event = UnsafePointer(self.event)
    }
    attachment = .allocate(capacity: 1)
    attachment.initialize(to: raw)
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
    frame.deallocate()
    attachment.deallocate()
    event.deallocate()
  }
}
