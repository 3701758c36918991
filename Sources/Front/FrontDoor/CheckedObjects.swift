import Glibc
import LedgerPort
import Objects
import Platform
import Synchronization

/// Objects that were changed since they were stored, by what the file system says, and whose content is what it was nevertheless: a
/// backup was put back, or a second name was given to it. All threads use it.
final class CheckedObjects: Sendable {
  private struct Key: Hashable {
    var device, inode: UInt64
    var size, modified, changed: Int64
    var sha256: [UInt8]
  }

  private let known = Mutex<Set<Key>>([])

  private static let mostKnown = 10_000
  /// Milliseconds after its attachment has ended in which an object gets its path.
  private static let publishing: Int64 = 2000

  /// Whether the content of an object is what was stored. It is read only where its file was touched since: no program can set the
  /// time that tells.
  ///
  /// - Parameter storedAt: in milliseconds since 1970; `nil`: not known.
  func isWhole(_ file: SharedDescriptor, _ facts: stat, sha256: [UInt8], storedAt: Int64?) -> Bool {
    func milliseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
    }
    let (modified, changed) = (milliseconds(facts.st_mtim), milliseconds(facts.st_ctim))
    if let storedAt, modified <= storedAt, changed <= storedAt + Self.publishing { return true }
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    let key = Key(
      device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino), size: Int64(facts.st_size),
      modified: nanoseconds(facts.st_mtim), changed: nanoseconds(facts.st_ctim), sha256: sha256)
    if known.withLock({ $0.contains(key) }) { return true }
    // What cannot be read is not whole.
    guard let digest = try? ObjectHash().digest(of: file.number, size: key.size), digest == sha256 else {
      return false
    }
    let stamp = FileStamp(
      device: key.device, inode: key.inode, size: key.size, modified: key.modified, changed: key.changed)
    // A change in the same moment may leave the same stamp.
    if stamp.isSettled(at: Clock.now()) {
      known.withLock { known in
        if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
        known.insert(key)
      }
    }
    return true
  }
}
