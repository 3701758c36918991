import CStage
import Glibc
import Wire

/// A piece of work as it arrived. The texts stay where they lie in the frame, each with its NUL, and stages get
/// pointers to them.
final class WorkInput {
  let serial: UInt64
  let first: Int
  let end: Int
  let attachment: UnsafeMutablePointer<sluice_attachment>
  let metadata: [(key: UnsafePointer<CChar>, value: UnsafePointer<CChar>)]
  /// Where a stage may write new content, or -1.
  let output: Int32
  private let message: ControlSocket.Message
  private let event: UnsafeMutablePointer<sluice_event>

  init(_ message: ControlSocket.Message, _ start: FrameReader) throws(FrameError) {
    self.message = message
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
    let content = message.descriptors.first ?? -1
    output = message.descriptors.count > 1 ? message.descriptors[1] : -1
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
    event = .allocate(capacity: 1)
    if try reader.boolean() {
      let id = try text(&reader)
      let type = try text(&reader)
      let recipient = try text(&reader)
      guard let body = try reader.textBytes() else { throw FrameError("an event without a body") }
      event.initialize(
        to: sluice_event(
          size: UInt32(MemoryLayout<sluice_event>.size), reserved: 0, id: id, type: type,
          recipient: recipient,
          body: body.baseAddress?.assumingMemoryBound(to: CChar.self), body_length: UInt64(body.count)))
      raw.event = UnsafePointer(event)
    }
    try reader.end()
    attachment = .allocate(capacity: 1)
    attachment.initialize(to: raw)
  }

  deinit {
    for descriptor in message.descriptors { close(descriptor) }
    message.bytes.deallocate()
    attachment.deallocate()
    event.deallocate()
  }
}
