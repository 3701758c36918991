import Glibc
import LedgerPort
import Platform

/// The folder with all of Sluice's state: the ledger, the store, and the lock that gives the right to write.
///
/// Exactly one process writes and checkpoints the ledger. Correctness depends on this rule: SQLite before
/// 3.51.3 can damage a write-ahead log that two connections reset at once
/// (https://sqlite.org/wal.html#walresetbug).
public struct Home: Sendable {
  public let path: String
  public var ledgerPath: String { path + "/sluice.db" }

  /// Whether the ledger is an empty file.
  public var hasEmptyLedger: Bool {
    var facts = stat()
    return stat(ledgerPath, &facts) == 0 && facts.st_size == 0
  }
  public var storePath: String { path + "/store" }
  /// The folder, below the path, where what clients send lies until its attachment has its object.
  public static let uploads = "uploads"
  public var uploadsPath: String { "\(path)/\(Self.uploads)" }
  /// Where what is fetched lies until its attachments have ended.
  public var downloadsPath: String { path + "/downloads" }
  /// A file that the operator named; a relative path begins here.
  public func file(_ name: String) -> String { name.hasPrefix("/") ? name : "\(path)/\(name)" }
  private var lockPath: String { path + "/sluice.lock" }
  private var reservePath: String { path + "/reserve" }

  public init(_ path: String) {
    self.path = path
  }

  /// Makes the folders that are missing.
  public func create() throws(LedgerError) {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      made += made.isEmpty && part.isEmpty ? "/" : (made.isEmpty || made == "/" ? "" : "/") + part
      if mkdir(made, 0o700) == 0 { continue }
      let failure = errno  // before the next call changes errno
      if failure == EEXIST || failure == EISDIR || (failure == EROFS && access(made, F_OK) == 0) { continue }
      throw unwritable(SystemError("making \(made)", code: failure))
    }
    var facts = stat()
    // A used ledger implies a store. If the store is missing, it may be unmounted: an empty one in its place
    // would hide that.
    let isUsed = stat(ledgerPath, &facts) == 0 && facts.st_size > 0 && access(reservePath, F_OK) == 0
    if isUsed && access(storePath, F_OK) != 0 && errno == ENOENT {
      throw LedgerError(
        .unwritable,
        "\(storePath) is not there, and \(ledgerPath) is; put it back where it was, or if it is lost make the folders "
          + "\(storePath)/.incoming: then `sluice verify --repair` queues what can be stored again")
    }
    if mkdir(storePath, 0o700) != 0 && errno != EEXIST {
      throw unwritable(SystemError("making \(storePath)"))
    }
    if stat(storePath, &facts) == 0 && facts.st_mode & S_IFMT != S_IFDIR {
      throw LedgerError(
        .unwritable, "\(storePath) is no folder; take it away, or give another home with --home")
    }
    // A socket left by an earlier run is replaced. A folder cannot be replaced.
    if lstat(path + "/sluice.sock", &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR {
      throw LedgerError(
        .unwritable, "\(path)/sluice.sock is a folder; take it away, or give another home with --home")
    }
  }

  private func unwritable(_ error: SystemError) -> LedgerError {
    LedgerError(.unwritable, "\(error); give a home that can be written, with --home")
  }

  /// Takes the right to write. It ends when the lock is released or the process ends, in any way.
  public func lock() throws(LedgerError) -> HomeLock {
    let descriptor: Descriptor
    do throws(SystemError) {
      descriptor = try Descriptor.open(lockPath, O_RDWR | O_CREAT | O_NONBLOCK)
    } catch {
      throw unwritable(error)
    }
    var facts = stat()
    guard fstat(descriptor.number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw LedgerError(.unwritable, "\(lockPath) is no regular file; take it away, and run again")
    }
    // A process that only checks whether the home is in use holds the lock for a moment: try again.
    var tries = 5
    while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
      let failure = errno  // before the next call changes errno
      if failure == EINTR { continue }
      guard failure == EWOULDBLOCK else {
        throw LedgerError(
          .unwritable,
          "\(SystemError("locking \(lockPath)", code: failure)); the file system of a home must know locks (flock): give a "
            + "home on a local disk, with --home, or mount this file system with locks")
      }
      tries -= 1
      if tries > 0 {
        usleep(10_000)
        continue
      }
      var text = [UInt8](repeating: 0, count: 32)
      let count = pread(descriptor.number, &text, text.count, 0)
      let holder = String(decoding: text.prefix(max(count, 0)), as: UTF8.self).filter(\.isNumber)
      throw LedgerError(
        .inUse,
        "\(path) is in use by another sluice\(holder.isEmpty ? "" : " (process \(holder))"); wait for it to end, "
          + "or, where it is one that serves or watches, hand it files with `sluice enqueue`; or give another --home"
      )
    }
    ftruncate(descriptor.number, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = pwrite(descriptor.number, text, text.count, 0)
    return HomeLock(descriptor: descriptor.release(), path: lockPath)
  }

  /// Whether a coordinator has a home.
  public enum Use: Sendable, Equatable {
    case free, inUse
    /// It could not be determined, for this reason.
    case unknown(String)
  }

  /// Whether a coordinator has the home now.
  public var use: Use {
    let descriptor: Descriptor
    do throws(SystemError) {
      descriptor = try Descriptor.open(lockPath, O_RDONLY | O_NONBLOCK)
    } catch  where error.code == ENOENT {
      return .free
    } catch {
      return .unknown("\(error)")
    }
    if flock(descriptor.number, LOCK_SH | LOCK_NB) == 0 {
      flock(descriptor.number, LOCK_UN)
      return .free
    }
    return errno == EWOULDBLOCK ? .inUse : .unknown("\(SystemError("asking \(lockPath)"))")
  }

  /// Whether a coordinator has the home now, or may have it.
  public var isInUse: Bool { use != .free }

  /// Refuses a home whose ledger is gone although its store has objects. A new ledger would know none of them, and all work and
  /// all deliveries would be repeated.
  public func checkLedgerIsThere() throws(LedgerError) {
    var facts = stat()
    if stat(ledgerPath, &facts) == 0 && facts.st_size > 0 { return }
    // A store that was never used may be a disk with files of others.
    let isUsed = access(reservePath, F_OK) == 0 || access("\(storePath)/.incoming", F_OK) == 0
    guard isUsed, let folder = opendir(storePath) else { return }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      // Work in progress has no value without a ledger.
      if [".", "..", ".incoming", "lost+found"].contains(name) { continue }
      throw LedgerError(
        .damaged,
        "\(ledgerPath) is gone or empty, and \(storePath) has objects; restore it from a backup, or to begin anew move "
          + "\(storePath) away")
    }
  }

  /// Reserves some bytes of disk space. A WAL database on a full disk cannot even be opened; the reserve is
  /// released then.
  package func keepReserve() {
    let descriptor = open(reservePath, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    if descriptor < 0 { return }
    if posix_fallocate(descriptor, 0, 2 << 20) != 0 { unlink(reservePath) }
    close(descriptor)
  }

  package func releaseReserve() {
    unlink(reservePath)
  }
}

/// The right to write a home's ledger. Held until ``release()`` or the end of the process.
public final class HomeLock: Sendable {
  private let descriptor: Int32
  private let path: String

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// Whether the lock still lies in the home. If it does not, the home was deleted, moved or replaced, and
  /// another coordinator may begin in its place.
  public var isInPlace: Bool {
    var own = stat()
    var there = stat()
    return fstat(descriptor, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev
      && own.st_ino == there.st_ino
  }

  deinit {
    close(descriptor)
  }
}
