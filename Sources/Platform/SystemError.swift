import Glibc

/// A system call that failed: what was being done, to what, and why.
public struct SystemError: Error, Sendable, CustomStringConvertible {
  public let code: Int32
  /// Such as `opening /data/a.pdf`.
  public let action: String

  /// Takes the reason from `errno`: make it before anything else can change that.
  public init(_ action: String, code: Int32 = errno) {
    self.action = action
    self.code = code
  }

  public var reason: String { String(cString: strerror(code)) }
  public var description: String { "\(action): \(reason)" }
}
