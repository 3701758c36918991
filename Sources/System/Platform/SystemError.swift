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

  /// The description with a next step, where it is the last word that a user hears.
  public var advice: String {
    switch code {
    case _ where !remedy.isEmpty: description
    case ENOENT: description + "; put it back where it was"
    case ENOTDIR: description + "; a folder belongs there: take away what is in its place"
    case ENOTEMPTY, EEXIST, EISDIR, ELOOP: description + "; take away what is in its place"
    case EACCES, EPERM: description + "; give this user the right to it"
    case EROFS: description + "; make the file system writable"
    case ENOSPC, EDQUOT: description + "; make room there"
    case ENAMETOOLONG: description + "; use a shorter path"
    case EIO: description + "; look after the disk, and what the kernel says of it (dmesg)"
    default: description + "; run the same command again, and if it says so again, tell the authors of Sluice"
    }
  }

  /// Whether it is about how the machine is set up: it does not pass by itself.
  public var isLasting: Bool {
    [ENOENT, ENOTDIR, ENOTEMPTY, EEXIST, EISDIR, ELOOP, EACCES, EPERM, EROFS, ENAMETOOLONG].contains(code)
  }
}
