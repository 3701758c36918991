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
    case setup = 1, work, question
    // From the worker.
    case ready = 16, refusal, result, description, trace
    // From a client to a coordinator, and back.
    case commands = 32, results, declined, welcome
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
public struct FrameWriter: Sendable {
  /// The frame and spare room after it: appending piece by piece would cost several times as much.
  private var room = [UInt8](repeating: 0, count: 1024)
  private var count = 0

  public init(_ kind: Frame.Kind) {
    write(kind.rawValue)
  }

  public var bytes: [UInt8] { Array(room[..<count]) }

  public mutating func write<Value: FixedWidthInteger>(_ value: Value) {
    let place = take(MemoryLayout<Value>.size)
    room.withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: place, as: Value.self) }
  }

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
    let place = take(text.count + 1)
    room.withUnsafeMutableBytes { room in
      UnsafeMutableRawBufferPointer(rebasing: room[place...]).copyMemory(from: text)
      room[place + text.count] = 0
    }
  }

  /// Reserves `more` bytes at the end, and returns their offset.
  private mutating func take(_ more: Int) -> Int {
    let place = count
    count += more
    if count > room.count { room += [UInt8](repeating: 0, count: max(count - room.count, room.count)) }
    return place
  }

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
  private var rest: UnsafeRawBufferPointer

  public init(_ frame: UnsafeRawBufferPointer) {
    rest = frame
  }

  public mutating func kind() throws(FrameError) -> Frame.Kind {
    guard let kind = Frame.Kind(rawValue: try integer(UInt8.self)) else {
      throw FrameError("unknown kind of frame")
    }
    return kind
  }

  public mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws(FrameError) -> Value {
    let count = MemoryLayout<Value>.size
    guard rest.count >= count else { throw FrameError("the frame ends early") }
    let value = rest.loadUnaligned(as: Value.self)
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    return Value(littleEndian: value)
  }

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
    let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length)))
    guard rest[Int(length)] == 0 else { throw FrameError("a text without its end") }
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(length) + 1))
    return bytes
  }

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
