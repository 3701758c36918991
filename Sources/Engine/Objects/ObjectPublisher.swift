import CPlatform
import Glibc
import Ledger
import Platform

/// Gives objects their paths, once the ledger has their attachments.
///
/// An object is in the store's incoming folder, synced, before its attachment's transaction; it is renamed after. Whenever
/// the process or the power ends in between, the next coordinator finds it there and goes on. So there is no object at a
/// path without its row, and the target's folders need not be synced one by one.
public final class ObjectPublisher {
  private let root: Int32
  private let store: String
  private var folders: Set<String> = []
  static let incoming = ".incoming"

  /// - Parameters:
  ///   - root: the store's folder, open as long as this is used.
  ///   - store: its path, for messages.
  public init(root: Int32, _ store: String) {
    self.root = root
    self.store = store
  }

  /// Renames an incoming object to its path. Where there is no incoming one, or the path holds the same content, the path has
  /// it already.
  public func publish(_ id: String, to path: String) throws(SystemError) {
    try makeFolder(Self.parent(of: path))
    let incoming = "\(Self.incoming)/\(id)"
    if sluice_rename_new(root, incoming, root, path) == 0 { return }
    var error = SystemError("naming the object \(path)")
    if error.code == ENOENT && exists(incoming) {
      // A folder that was made before is gone.
      folders.removeAll(keepingCapacity: true)
      try makeFolder(Self.parent(of: path))
      if sluice_rename_new(root, incoming, root, path) == 0 { return }
      error = SystemError("naming the object \(path)")
    }
    switch error.code {
    case ENOENT where exists(path): return
    case EEXIST where sluice_same_content(root, incoming, path) == 1: discard(id)
    default: throw error
    }
  }

  /// Refuses an empty store where the ledger has objects: what is stored into the place of one that is away would be hidden by
  /// it, or lost.
  public func checkStore(_ ledger: Ledger) throws(LedgerError) {
    guard isEmpty, try ledger.hasObjects() else { return }
    throw LedgerError(
      .unwritable,
      "\(store) is empty, and the ledger has objects in it; mount it or put it back, or if it is lost make the folder "
        + "\(store)/\(Self.incoming): then `sluice verify --repair` queues what can be stored again")
  }

  private var isEmpty: Bool {
    let descriptor = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, let folder = fdopendir(descriptor) else { return false }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count <= 2  // `.` and `..`
  }

  /// Whether a stage has left an object for this attachment.
  public func hasIncoming(_ id: String) -> Bool { exists("\(Self.incoming)/\(id)") }

  public func exists(_ path: String) -> Bool { faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 }

  /// What lies at a path.
  public enum Standing: Sendable {
    case free, taken
    /// It can hold no object whatever its content: it is a folder, or a part of it is none.
    case blocked
  }

  public func standing(of path: String) -> Standing {
    var facts = stat()
    if fstatat(root, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 {
      return facts.st_mode & S_IFMT == S_IFDIR ? .blocked : .taken
    }
    return errno == ENOTDIR ? .blocked : .free
  }

  /// Takes an incoming object away.
  public func discard(_ id: String) {
    unlinkat(root, "\(Self.incoming)/\(id)", 0)
  }

  /// Finishes what an earlier coordinator began: gives what is on record its path, and takes the rest away. Returns what could
  /// not be done; such an object stays where it is.
  public func recover(_ ledger: Ledger) throws -> [String] {
    var problems: [String] = []
    for name in try incomingNames() {
      guard let path = try ledger.location(ofAttachment: name) else {
        discard(name)
        continue
      }
      do throws(SystemError) {
        try publish(name, to: path)
      } catch {
        problems.append("\(error); the object of attachment \(name) waits in the store's .incoming")
      }
    }
    return problems
  }

  /// The attachments of the incoming objects: ids, or what else bears a name there.
  func incomingNames() throws(SystemError) -> [String] {
    let descriptor = openat(root, Self.incoming, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return [] }
      throw SystemError("opening \(store)/\(Self.incoming)")
    }
    guard let folder = fdopendir(descriptor) else {
      close(descriptor)
      throw SystemError("listing \(store)/\(Self.incoming)")
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  private func makeFolder(_ path: String) throws(SystemError) {
    if path.isEmpty || folders.contains(path) { return }
    if mkdirat(root, path, 0o700) != 0 && errno != EEXIST {
      guard errno == ENOENT else { throw SystemError("making the folder \(path)") }
      try makeFolder(Self.parent(of: path))
      if mkdirat(root, path, 0o700) != 0 && errno != EEXIST { throw SystemError("making the folder \(path)") }
    }
    if folders.count >= 1024 { folders.removeAll(keepingCapacity: true) }
    folders.insert(path)
  }

  private static func parent(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
  }
}
