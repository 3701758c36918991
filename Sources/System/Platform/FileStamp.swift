import Glibc

/// What tells, without reading it, whether a file is still the one that it was: device, inode, size, and the times of the last
/// change of its content and of the inode. No program can set the last one.
public struct FileStamp: Sendable, Equatable {
  public var device: UInt64
  public var inode: UInt64
  /// In bytes.
  public var size: Int64
  /// In nanoseconds since 1970. Dates past 2262 wrap.
  public var modified: Int64
  public var changed: Int64

  public init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    (self.device, self.inode, self.size) = (device, inode, size)
    (self.modified, self.changed) = (modified, changed)
  }

  /// Of the file that a path leads to; `nil`: there is no regular file.
  public init?(of path: String) {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    self.init(
      device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size),
      modified: nanoseconds(facts.st_mtim), changed: nanoseconds(facts.st_ctim))
  }

  /// The coarsest step of a file system's times, in milliseconds: two changes within one may leave the same stamp.
  private static let coarsestStep: Int64 = 2_000

  /// Whether every change from this time on gives another stamp.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func isSettled(at now: Int64) -> Bool {
    max(changed, modified) / 1_000_000 < now - Self.coarsestStep
  }
}
