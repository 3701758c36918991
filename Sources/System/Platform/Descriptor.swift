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
