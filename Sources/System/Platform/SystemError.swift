import Glibc

/// A failed system call: the action, its object, and the reason.
public struct SystemError: Error, Sendable, CustomStringConvertible {
  public let code: Int32
  /// Such as `opening /data/a.pdf`.
  public let action: String

  /// Takes the reason from `errno`. Create it before another call changes `errno`.
  public init(_ action: String, code: Int32 = errno) {
    self.action = action
    self.code = code
  }

  public var reason: String { String(cString: strerror(code)) }
  public var description: String { "\(action): \(reason)\(remedy)" }

  /// What to do about a system limit, as the end of a sentence; empty if the reason is enough.
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

  /// The description with a next step, for errors that are shown to the user as they are.
  public var advice: String {
    switch code {
    case _ where !remedy.isEmpty: description
    case ENOENT where action.hasPrefix("listening"):
      description + "; make the folder, or give another address"
    case ENOENT: description + "; put it back where it was"
    case ENOTDIR: description + "; a folder belongs there: take away what is in its place"
    case ENOTEMPTY, EEXIST, EISDIR, ELOOP: description + "; take away what is in its place"
    case EACCES, EPERM: description + "; give this user the right to it"
    case EROFS: description + "; make the file system writable"
    case ENOSPC, EDQUOT: description + "; make room there"
    case ENAMETOOLONG: description + "; use a shorter path"
    case EADDRINUSE: description + "; end the program that listens there, or give another address"
    case EADDRNOTAVAIL: description + "; give an address that this machine has"
    case EIO: description + "; look after the disk, and what the kernel says of it (dmesg)"
    default: description + "; run the same command again, and if it says so again, tell the authors of Sluice"
    }
  }

  /// Whether the cause is how the machine is set up, so that it does not pass by itself.
  public var isLasting: Bool {
    [
      ENOENT, ENOTDIR, ENOTEMPTY, EEXIST, EISDIR, ELOOP, EACCES, EPERM, EROFS, ENAMETOOLONG,
      EADDRINUSE, EADDRNOTAVAIL,
    ].contains(code)
  }
}
