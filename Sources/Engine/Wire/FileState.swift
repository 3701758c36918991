import Glibc

/// What tells whether a file was changed since: compared, never read as a date.
public struct FileState: Sendable, Equatable {
  /// In bytes.
  public var size: Int64
  /// When its content was last modified, and when anything of it was changed, in nanoseconds since 1970. Dates past 2262 wrap.
  public var modified: Int64
  public var changed: Int64

  public init(_ facts: stat) {
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    size = Int64(facts.st_size)
    modified = nanoseconds(facts.st_mtim)
    changed = nanoseconds(facts.st_ctim)
  }

  /// Whether the data is the same, whatever links the file has got or lost.
  public func hasSameData(as other: FileState) -> Bool {
    (size, modified) == (other.size, other.modified)
  }

  /// Of no file.
  public init() {
    (size, modified, changed) = (0, 0, 0)
  }
}
