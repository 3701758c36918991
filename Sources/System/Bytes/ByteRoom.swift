/// Bytes that grow at their end, with room after them.
///
/// Frames and JSON are put together piece by piece. With an array, each piece would cost a check of who else holds it and of its
/// bounds, several times what it costs to copy it. Unchecked, because it is not copyable, so that it has one owner.
@frozen
public struct ByteRoom: ~Copyable, @unchecked Sendable {
  @usableFromInline internal var start: UnsafeMutableRawPointer
  @usableFromInline internal var capacity: Int
  @usableFromInline internal var count = 0

  /// - Parameter capacity: bytes that it takes before it has to grow.
  @inlinable
  public init(capacity: Int) {
    start = .allocate(byteCount: capacity, alignment: 1)
    self.capacity = capacity
  }

  @inlinable
  deinit { start.deallocate() }

  @inlinable
  public mutating func append(_ byte: UInt8) {
    let place = take(1)
    place.storeBytes(of: byte, as: UInt8.self)
  }

  @inlinable
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    take(bytes.count).copyMemory(from: source, byteCount: bytes.count)
  }

  /// Appends an integer, the least of its bytes first.
  @inlinable
  public mutating func append<Value: FixedWidthInteger>(littleEndian value: Value) {
    take(MemoryLayout<Value>.size).storeBytes(of: value.littleEndian, as: Value.self)
  }

  /// Reserves `more` bytes at the end, to be written by the caller, and returns where they begin.
  @inlinable
  public mutating func take(_ more: Int) -> UnsafeMutableRawPointer {
    if capacity - count < more { grow(more) }
    let place = start + count
    count += more
    return place
  }

  @usableFromInline
  internal mutating func grow(_ more: Int) {
    capacity = max(count + more, capacity * 2)
    let new = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
    new.copyMemory(from: start, byteCount: count)
    start.deallocate()
    start = new
  }

  /// What was appended; valid as long as nothing more is.
  @inlinable
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(start: start, count: count))
  }

  public var bytes: [UInt8] { withBytes { [UInt8]($0) } }

  public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
