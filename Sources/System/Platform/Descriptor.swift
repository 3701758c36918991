import CPlatform
import Glibc

/// A file descriptor with one owner, closed when the owner is destroyed.
public struct Descriptor: ~Copyable, Sendable {
  public let number: Int32

  /// Takes ownership of an open descriptor.
  public init(owning number: Int32) {
    self.number = number
  }

  /// Opens a file, always close-on-exec.
  public static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(SystemError)
    -> Descriptor
  {
    let number = Glibc.open(path, flags | O_CLOEXEC, mode)
    if number < 0 { throw SystemError("opening \(path)") }
    return Descriptor(owning: number)
  }

  /// Writes all bytes, if need be after the reader has made room: another program may have made the pipe or the
  /// terminal non-blocking, because that flag belongs to all who share it.
  ///
  /// - Returns: how many bytes are written, and the errno with which writing failed; 0: all are written.
  public static func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32
  ) -> (count: Int, error: Int32) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        continue
      }
      let failure = errno
      if failure == EINTR { continue }
      guard failure == EAGAIN || failure == EWOULDBLOCK else { return (bytes.count - rest.count, failure) }
      var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&room, 1, -1)
    }
    return (bytes.count, 0)
  }

  /// Gives up ownership. The caller must close the descriptor.
  public consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }

  deinit {
    close(number)
  }
}

/// A descriptor that several share. It is closed once none of them needs it any more.
public final class SharedDescriptor: Sendable {
  public let number: Int32

  public init(_ descriptor: consuming Descriptor) { number = descriptor.release() }

  deinit { Glibc.close(number) }
}
