import Bytes
import Glibc

/// The encoding between coordinator and workers: one frame is one message of a SOCK_SEQPACKET socket.
///
/// Integers are little-endian. A text is its length, its bytes and a NUL, so that the worker can pass it to a
/// stage in place; an absent text has the length `UInt32.max`. Readers do not trust the writer of a frame.
public enum Frame {
  /// The longest frame, in bytes. An attachment's metadata is limited to half of it, so every frame fits.
  public static let limit = 96 << 10

  /// The first byte of a frame.
  public enum Kind: UInt8, Sendable {
    // To the worker.
    case setup = 1, work, question, transfer, order
    // From the worker.
    case ready = 16, refusal, result, description, trace, news, fault
    // In the file with the pieces.
    case pieces = 24
    // From a client to a coordinator, and back.
    case commands = 32, results, declined, welcome
    // The same, about workers: the question, and the answer.
    case workersQuestion = 36, workers
    // The same, about the pipeline.
    case pipelineQuestion = 38, pipeline
    // To the process that serves HTTP.
    case serve = 48, reply, part, parts, finish, takeBody, store, abort, drain, inform, replies
    // From it.
    case serving = 64, request, body, cut, stored, ended, requests
    // To the process that answers clients of ClamAV's daemon.
    case doors = 80, take, answer, close
    // From it.
    case open = 96, asked, taken, left
  }
}

/// An invalid frame.
public struct FrameError: Error, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// Builds a frame.
public struct FrameWriter: ~Copyable, Sendable {
  @usableFromInline internal var room = ByteRoom(capacity: 2048)

  public init(_ kind: Frame.Kind) {
    write(kind.rawValue)
  }

  public var bytes: [UInt8] { room.bytes }

  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { room.withBytes(body) }

  @inlinable
  public mutating func write<Value: FixedWidthInteger>(_ value: Value) { room.append(littleEndian: value) }

  public mutating func write(_ value: Double) { write(value.bitPattern) }
  public mutating func write(_ value: Bool) { write(UInt8(value ? 1 : 0)) }

  /// Bytes that a text takes besides its own: its length, and a NUL.
  public static let textOverhead = 5

  public mutating func write(_ text: String?) {
    guard var text else { return write(UInt32.max) }
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }

  public mutating func write(_ text: UnsafeRawBufferPointer) {
    write(UInt32(text.count))
    let place = room.take(text.count + 1)
    if let source = text.baseAddress { place.copyMemory(from: source, byteCount: text.count) }
    place.storeBytes(of: 0, toByteOffset: text.count, as: UInt8.self)
  }

  @inlinable
  public mutating func write<Element>(
    _ elements: [Element], _ body: (inout FrameWriter, Element) -> Void
  ) {
    write(UInt32(elements.count))
    for element in elements { body(&self, element) }
  }
}

/// Parses a frame, and checks every length before it is used.
///
/// The buffer must outlive the reader and every pointer it gave.
public struct FrameReader {
  @usableFromInline internal var rest: UnsafeRawBufferPointer

  public init(_ frame: UnsafeRawBufferPointer) {
    rest = frame
  }

  public mutating func kind() throws(FrameError) -> Frame.Kind {
    guard let kind = Frame.Kind(rawValue: try integer(UInt8.self)) else {
      throw FrameError("unknown kind of frame")
    }
    return kind
  }

  @inlinable
  public mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws(FrameError) -> Value {
    let count = MemoryLayout<Value>.size
    guard rest.count >= count else { throw FrameError("the frame ends early") }
    let value = rest.loadUnaligned(as: Value.self)
    skip(count)
    return Value(littleEndian: value)
  }

  /// - Parameter count: as many bytes as there are, at most.
  @inlinable
  internal mutating func skip(_ count: Int) { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }

  public mutating func number() throws(FrameError) -> Double { Double(bitPattern: try integer(UInt64.self)) }

  public mutating func boolean() throws(FrameError) -> Bool { try integer(UInt8.self) != 0 }

  /// A pointer to a text in the frame, terminated by NUL; `nil` if it is absent.
  public mutating func pointer() throws(FrameError) -> UnsafePointer<CChar>? {
    try textBytes()?.baseAddress?.assumingMemoryBound(to: CChar.self)
  }

  /// A text; bytes that are not UTF-8 become U+FFFD, which makes it longer.
  public mutating func text(atMost limit: Int) throws(FrameError) -> String? {
    guard let bytes = try textBytes() else { return nil }
    guard bytes.count <= limit else {
      throw FrameError("a text of \(bytes.count) bytes where \(limit) are allowed")
    }
    // No text of a ledger or of C's has one.
    if let start = bytes.baseAddress, memchr(start, 0, bytes.count) != nil {
      throw FrameError("a text with a NUL character")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.utf8.count <= limit else {
      throw FrameError("a text of \(text.utf8.count) bytes, once it is UTF-8, where \(limit) are allowed")
    }
    return text
  }

  /// A text that must be present.
  public mutating func requiredText(atMost limit: Int) throws(FrameError) -> String {
    guard let text = try text(atMost: limit) else { throw FrameError("a text is missing") }
    return text
  }

  public mutating func textBytes() throws(FrameError) -> UnsafeRawBufferPointer? {
    let length = try integer(UInt32.self)
    if length == .max { return nil }
    guard rest.count > Int(length) else {
      throw FrameError("a text of \(length) bytes in a frame that ends before it")
    }
    let bytes = UnsafeRawBufferPointer(rebasing: rest[..<Int(length)])
    guard rest[Int(length)] == 0 else { throw FrameError("a text without its end") }
    skip(Int(length) + 1)
    return bytes
  }

  @inlinable
  public mutating func elements<Element>(
    atMost limit: Int, _ body: (inout FrameReader) throws(FrameError) -> Element
  ) throws(FrameError) -> [Element] {
    let count = try integer(UInt32.self)
    guard count <= UInt32(limit) else { throw FrameError("\(count) elements where \(limit) are allowed") }
    var elements: [Element] = []
    elements.reserveCapacity(Int(count))
    for _ in 0..<count { elements.append(try body(&self)) }
    return elements
  }

  /// Throws if bytes are left.
  public func end() throws(FrameError) {
    if !rest.isEmpty { throw FrameError("\(rest.count) bytes too many") }
  }
}
