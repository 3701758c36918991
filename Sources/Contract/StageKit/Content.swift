import Glibc

/// The whole content in memory, in a buffer that is used again, for libraries that want all of it.
///
/// Some read a descriptor in pieces of 256 bytes, so reading it all at once costs less; and a mapping of a file that is
/// cut short meanwhile would end the process with SIGBUS.
public final class Content {
  /// Valid until the next `read` or `release`.
  public private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)

  private var room: UnsafeMutableRawPointer?
  private var capacity = 0

  /// What is kept for the next content; beyond it, memory goes back.
  private static let kept = 4 << 20

  /// Takes no memory until the first content is read.
  public init() {}

  deinit {
    free(room)
  }

  /// Reads the content as long as it was measured. Throws a retry (`source-changed`, `unreadable`) where it is shorter by
  /// now or cannot be read, and a failure (`out-of-memory`) where it does not fit: a stage lists these codes.
  ///
  /// - Parameter limit: bytes that are read at most.
  public func read(_ attachment: Attachment, atMost limit: Int64 = .max) throws(Outcome) {
    let size = Int(min(attachment.size, limit))
    guard reserve(size), let room else {
      throw .fail("out-of-memory", "\(size) bytes do not fit into the memory this stage may use")
    }
    var count = 0
    while count < size {
      let rest = UnsafeMutableRawBufferPointer(start: room + count, count: size - count)
      let read = try attachment.read(into: rest, at: Int64(count))
      if read == 0 {
        throw .retry("source-changed", "\(count) bytes were read where \(size) had been measured")
      }
      count += read
    }
    bytes = UnsafeRawBufferPointer(start: room, count: size)
  }

  /// Ends the use of `bytes`.
  public func release() {
    bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    if capacity > Self.kept { discard() }
  }

  private func reserve(_ size: Int) -> Bool {
    if size > capacity || room == nil {
      discard()
      capacity = max(size, 64 << 10)
      room = malloc(capacity)
      if room == nil { capacity = 0 }
    }
    return room != nil
  }

  private func discard() {
    free(room)
    room = nil
    capacity = 0
  }
}
