import CStage
import Glibc

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
  private let frame: UnsafeMutableRawBufferPointer
  private let descriptors: [Int32]
  private let event: UnsafeMutablePointer<sluice_event>

  /// Reads what follows the kind. On success, this object owns the frame and the descriptors; if it throws,
  /// the caller keeps them.
  ///
  /// - Parameter descriptors: of the content, and of the content to be produced, if there are any.
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
    let content = descriptors.first ?? -1
    output = descriptors.count > 1 ? descriptors[1] : -1
    var raw = sluice_attachment(
      size: UInt32(MemoryLayout<sluice_attachment>.size), attempt: attempt, id: try text(&reader),
      conversation_id: try text(&reader), message_id: try text(&reader), sender_id: try text(&reader),
      file_name: try text(&reader), declared_type: try reader.pointer(), media_type: try reader.pointer(),
      sha256: try reader.pointer(), twin: try reader.pointer(), content: content, outcome: outcome,
      content_size: UInt64(max(size, 0)), reason_stage: try reader.pointer(),
      reason_code: try reader.pointer(),
      reason_message: try reader.pointer(), event: nil, modified: modified, changed: changed)
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
