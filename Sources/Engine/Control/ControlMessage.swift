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
      var item = item
      item.visit(&writer)
    }
    return writer.bytes
  }

  /// Bytes that a file takes in a message, at most.
  static func size(of item: IntakeItem) -> Int {
    var size = FieldSizes()
    var item = item
    item.visit(&size)
    return size.bytes
  }

  static func items(_ message: UnsafeRawBufferPointer) throws(FrameError) -> [IntakeItem] {
    var reader = FrameReader(message)
    guard try reader.kind() == .enqueue else { throw FrameError("a message that has no place here") }
    let items = try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) -> IntakeItem in
      var item = IntakeItem()
      try item.visit(&reader)
      return item
    }
    try reader.end()
    return items
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

// MARK: - The fields of a file

extension FrameWriter: IntakeVisitor {
  package mutating func visit(_ field: IntakeField, _ value: inout String) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout String?) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout [String]) { write(value) { $0.write($1) } }
  package mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) {
    value.withUnsafeBytes { write($0) }
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64?) {
    write(value != nil)
    write(value ?? 0)
  }
}

extension FrameReader: IntakeVisitor {
  package mutating func visit(_ field: IntakeField, _ value: inout String) throws(FrameError) {
    value = try requiredText(atMost: ControlMessage.limit)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout String?) throws(FrameError) {
    value = try text(atMost: ControlMessage.limit)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout [String]) throws(FrameError) {
    value = try elements(atMost: ControlMessage.limit) { (reader) throws(FrameError) in
      try reader.requiredText(atMost: ControlMessage.limit)
    }
  }
  package mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) throws(FrameError) {
    guard let bytes = try textBytes() else { throw FrameError("'\(field.name)' is missing") }
    value = [UInt8](bytes)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64) throws(FrameError) {
    value = try integer(Int64.self)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64?) throws(FrameError) {
    let isThere = try boolean()
    let number = try integer(Int64.self)
    value = isThere ? number : nil
  }
}

/// Adds up what fields take in a message.
private struct FieldSizes: IntakeVisitor {
  var bytes = 0

  private mutating func add(_ count: Int) { bytes += count + FrameWriter.textOverhead }
  mutating func visit(_ field: IntakeField, _ value: inout String) { add(value.utf8.count) }
  mutating func visit(_ field: IntakeField, _ value: inout String?) { add(value?.utf8.count ?? 0) }
  mutating func visit(_ field: IntakeField, _ value: inout [String]) {
    add(0)
    for text in value { add(text.utf8.count) }
  }
  mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) { add(value.count) }
  mutating func visit(_ field: IntakeField, _ value: inout Int64) { bytes += 8 }
  mutating func visit(_ field: IntakeField, _ value: inout Int64?) { bytes += 9 }
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
