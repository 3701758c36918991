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
  public var description: String { "\(action): \(reason)\(remedy)" }

  /// What to do about a limit that is the system's, as the end of a sentence; empty where the reason says enough.
  private var remedy: String {
    switch code {
    case EMFILE: "; raise the limit on open files, with `ulimit -n`"
    case ENFILE: "; the system has as many files open as it may: end other programs, or raise fs.file-max"
    case EFBIG: "; raise the limit on the size of files, with `ulimit -f`"
    case EAGAIN where action.hasPrefix("starting"): "; raise the limit on processes, with `ulimit -u`"
    case ENOMEM: "; the system has no memory left: end other programs, or raise the limit with `ulimit -v`"
    default: ""
    }
  }
}
