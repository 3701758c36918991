import Ledger
import Wire

/// The messages between client and coordinator: four bytes of length, then the message, encoded like the
/// frames of workers.
///
/// The coordinator welcomes a client when it accepts it. Then the client sends files, and gets one answer for
/// each message, once the files are on record. Before it disconnects a client, the coordinator sends the
/// reason.
enum ControlMessage {
  /// The longest message, in bytes. A line of a manifest has at most a megabyte.
  static let limit = 4 << 20
  /// Files in one message, which is one transaction of the ledger.
  static let itemLimit = 500

  static func enqueue(_ items: [IntakeItem]) -> [UInt8] {
    var writer = FrameWriter(.enqueue)
    writer.write(items) { writer, item in
      writer.write(item.conversationId)
      writer.write(item.messageId)
      writer.write(item.senderId)
      writer.write(item.participants) { $0.write($1) }
      writer.write(item.text)
      writer.write(item.fileName)
      writer.write(item.declaredType)
      item.source.withUnsafeBytes { writer.write($0) }
      writer.write(item.sourceSize)
      writer.write(item.sourceModified)
      writer.write(item.folderDevice != nil)
      writer.write(item.folderDevice ?? 0)
      writer.write(item.priority)
      writer.write(item.origin)
    }
    return writer.bytes
  }

  static func items(_ message: UnsafeRawBufferPointer) throws(FrameError) -> [IntakeItem] {
    var reader = FrameReader(message)
    guard try reader.kind() == .enqueue else { throw FrameError("a message that has no place here") }
    let items = try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) -> IntakeItem in
      var item = IntakeItem(
        conversationId: try reader.requiredText(atMost: limit), messageId: try reader.text(atMost: limit),
        senderId: try reader.requiredText(atMost: limit),
        participants: try reader.elements(atMost: limit) { (reader) throws(FrameError) in
          try reader.requiredText(atMost: limit)
        },
        text: try reader.text(atMost: limit), fileName: try reader.requiredText(atMost: limit),
        declaredType: try reader.text(atMost: limit), source: try bytes(&reader),
        sourceSize: try reader.integer(Int64.self), sourceModified: try reader.integer(Int64.self),
        origin: "")
      let hasDevice = try reader.boolean()
      let device = try reader.integer(Int64.self)
      item.folderDevice = hasDevice ? device : nil
      item.priority = try reader.integer(Int64.self)
      item.origin = try reader.requiredText(atMost: limit)
      return item
    }
    try reader.end()
    return items
  }

  private static func bytes(_ reader: inout FrameReader) throws(FrameError) -> [UInt8] {
    guard let bytes = try reader.textBytes() else { throw FrameError("a path is missing") }
    return [UInt8](bytes)
  }

  static func enqueued(_ report: IntakeReport) -> [UInt8] {
    var writer = FrameWriter(.enqueued)
    writer.write(UInt32(clamping: report.added))
    writer.write(UInt32(clamping: report.known))
    writer.write(UInt32(clamping: report.knownNotCompleted))
    writer.write(report.problems) { $0.write($1) }
    return writer.bytes
  }

  static func welcome() -> [UInt8] { FrameWriter(.welcome).bytes }

  /// Reads the coordinator's first message: whether the client is accepted.
  static func letsIn(_ message: UnsafeRawBufferPointer) throws(FrameError) -> Result<Void, ControlRefusal> {
    var reader = FrameReader(message)
    switch try reader.kind() {
    case .welcome: return .success(())
    case .declined: return .failure(ControlRefusal(reason: try reader.requiredText(atMost: 4096)))
    default: throw FrameError("a message that has no place here")
    }
  }

  static func declined(_ reason: String) -> [UInt8] {
    var writer = FrameWriter(.declined)
    writer.write(reason)
    return writer.bytes
  }

  /// Reads the coordinator's answer: the result for the files, or why it disconnects the client.
  static func answer(_ message: UnsafeRawBufferPointer) throws(FrameError) -> Result<
    IntakeReport, ControlRefusal
  > {
    var reader = FrameReader(message)
    if try reader.kind() == .declined {
      return .failure(ControlRefusal(reason: try reader.requiredText(atMost: 4096)))
    }
    return .success(try report(message))
  }

  private static func report(_ message: UnsafeRawBufferPointer) throws(FrameError) -> IntakeReport {
    var reader = FrameReader(message)
    guard try reader.kind() == .enqueued else { throw FrameError("a message that has no place here") }
    var report = IntakeReport()
    report.added = Int(try reader.integer(UInt32.self))
    report.known = Int(try reader.integer(UInt32.self))
    report.knownNotCompleted = Int(try reader.integer(UInt32.self))
    report.problems = try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) in
      try reader.requiredText(atMost: limit)
    }
    try reader.end()
    return report
  }

  /// A message with its length before it.
  static func framed(_ message: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(message.count).littleEndian) { Array($0) } + message
  }
}

/// Why a coordinator does not serve a client.
public struct ControlRefusal: Error, Sendable, CustomStringConvertible {
  public var reason: String
  public var description: String { reason }
}

/// Collects bytes until they form messages.
struct ControlInbox {
  private var bytes: [UInt8] = []

  mutating func append(_ piece: UnsafeRawBufferPointer) { bytes.append(contentsOf: piece) }

  /// Takes out the first complete message; `nil`: more bytes are needed.
  mutating func next() throws(FrameError) -> [UInt8]? {
    guard bytes.count >= 4 else { return nil }
    let length = Int(UInt32(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }))
    guard length <= ControlMessage.limit else {
      throw FrameError("a message of \(length) bytes where \(ControlMessage.limit) are allowed")
    }
    guard bytes.count >= 4 + length else { return nil }
    let message = Array(bytes[4..<(4 + length)])
    bytes.removeSubrange(..<(4 + length))
    return message
  }
}
