import CPlatform
import Glibc
import Platform
import Synchronization

/// A store in a folder. Staged objects lie in a subfolder, and are renamed to their paths. Any thread may use it.
public final class FileStore: ObjectStore, Sendable {
  let root: Int32
  public let name: String
  /// Folders that are known to be there, so that they need not be made for each object.
  private let folders = Mutex<Set<String>>([])
  static let incoming = ".incoming"

  /// - Parameters:
  ///   - root: the store's folder; must stay open while this object is in use.
  ///   - store: its path, for messages.
  public init(root: Int32, _ store: String) {
    self.root = root
    self.name = store
  }

  public func publish(_ object: StagedObject) throws(SystemError) {
    let path = object.path
    try makeFolder(Self.parent(of: path))
    var incoming = "\(Self.incoming)/\(object.name.text)"
    if sluice_rename_new(root, incoming, root, path) == 0 { return }
    incoming = "\(Self.incoming)/\(place(of: object.name).text)"
    if sluice_rename_new(root, incoming, root, path) == 0 { return }
    var error = SystemError("naming the object \(path)")
    if error.code == ENOENT && exists(incoming) {
      // A folder created before is gone.
      folders.withLock { $0.removeAll(keepingCapacity: true) }
      try makeFolder(Self.parent(of: path))
      if sluice_rename_new(root, incoming, root, path) == 0 { return }
      error = SystemError("naming the object \(path)")
    }
    switch error.code {
    case ENOENT where exists(path): return
    case EEXIST where sluice_same_content(root, incoming, path) == 1: discard(object.name)
    default: throw error
    }
  }

  public func adopt(_ file: String, open descriptor: Int32, as name: StagedName) -> String? {
    var own = stat()
    guard fstat(descriptor, &own) == 0, own.st_nlink == 1 else { return nil }
    let path = "\(Self.incoming)/\(name.text)"
    guard linkat(AT_FDCWD, file, root, path, 0) == 0 else { return nil }
    var there = stat()
    if fstatat(root, path, &there, AT_SYMLINK_NOFOLLOW) == 0, there.st_dev == own.st_dev,
      there.st_ino == own.st_ino
    {
      return path
    }
    unlinkat(root, path, 0)
    return nil
  }

  /// Gives an object another path, where nothing may be.
  func move(_ path: String, to other: String) throws(SystemError) {
    try makeFolder(Self.parent(of: other))
    if sluice_rename_new(root, path, root, other) != 0 { throw SystemError("naming the object \(other)") }
  }

  /// Gives an object a second path, where nothing may be.
  func link(_ path: String, to other: String) throws(SystemError) {
    try makeFolder(Self.parent(of: other))
    if linkat(root, path, root, other, 0) != 0 { throw SystemError("linking the object \(other)") }
  }

  /// Whether the store is still at its path. If not, it was deleted, moved or replaced, or a mount came over it.
  public var isInPlace: Bool {
    var own = stat()
    var there = stat()
    return fstat(root, &own) == 0 && stat(name, &there) == 0 && own.st_dev == there.st_dev
      && own.st_ino == there.st_ino
  }

  public var isEmpty: Bool {
    let descriptor = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, let folder = fdopendir(descriptor) else { return false }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count <= 2  // `.` and `..`
  }

  public func isStaged(_ staged: StagedName) -> Bool { exists("\(Self.incoming)/\(place(of: staged).text)") }

  public func digest(ofStaged staged: StagedName) throws(SystemError) -> [UInt8]? {
    guard let file = try open("\(Self.incoming)/\(place(of: staged).text)") else { return nil }
    let hash = try SHA256()
    hash.begin()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { room.deallocate() }
    while true {
      let count = read(file.number, room.baseAddress, room.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("reading the object \(staged)") }
      if count == 0 { return hash.finish() }
      hash.add(UnsafeRawBufferPointer(rebasing: room[..<count]))
    }
  }

  /// Where an object is: a stage that was built for contract 1.0 names it by its attachment alone.
  private func place(of name: StagedName) -> StagedName {
    if name.token == nil || name.derived != nil || exists("\(Self.incoming)/\(name.text)") { return name }
    let plain = StagedName(attachmentId: name.attachmentId, nil)
    return exists("\(Self.incoming)/\(plain.text)") ? plain : name
  }

  /// What is staged for an attachment or an object beside it, under any lease.
  func staged(for id: String, derived: String? = nil) -> [StagedName] {
    // Where there is no such folder, nothing is.
    ((try? staged()) ?? []).filter { $0.attachmentId == id && $0.derived == derived }
  }

  public func exists(_ path: String) -> Bool {
    // faccessat2(2), which the library takes for flags, is refused in old containers.
    var facts = stat()
    return fstatat(root, path, &facts, AT_SYMLINK_NOFOLLOW) == 0
  }

  public func standing(of path: String) -> ObjectStanding {
    var facts = stat()
    if fstatat(root, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 {
      return facts.st_mode & S_IFMT == S_IFDIR ? .blocked : .taken
    }
    return errno == ENOTDIR ? .blocked : .free
  }

  /// Never leaves the store, and follows no symbolic link.
  public func open(_ path: String) throws(SystemError) -> Descriptor? {
    let number = sluice_open_below(root, path)
    if number >= 0 { return Descriptor(owning: number) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("opening the object \(path)")
  }

  /// The content of an attachment that is completed on record, from its path or from where it waits for it: it gets the path a
  /// moment after the record, or much later where the disk refuses. `nil`: it is in neither place.
  public func open(_ path: String, of id: String, sha256: [UInt8]) throws(SystemError) -> Descriptor? {
    if let file = try open(path) { return file }
    for name in try staged() where name.attachmentId == id {
      guard try digest(ofStaged: name) == sha256 else { continue }
      if let file = try open("\(Self.incoming)/\(name.text)") { return file }
    }
    // It may have got its path meanwhile.
    return try open(path)
  }

  public func list(after path: String?) -> any ObjectListing {
    FileListing(root: root, after: Array((path ?? "").utf8))
  }

  /// Folders that are synced one by one, at most; more are synced with all that the file system has.
  private static let syncedAlone = 8

  public func delete(_ paths: [String]) -> [SystemError?] {
    folders.withLock { $0.removeAll(keepingCapacity: true) }
    var changed: Set<String> = []
    var results = paths.map { path -> SystemError? in
      if unlinkat(root, path, 0) != 0 && errno != ENOENT && errno != ENOTDIR {
        return SystemError("deleting the object \(path)")
      }
      changed.insert(removeEmptyFolders(Self.parent(of: path)))
      return nil
    }
    if let error = sync(changed) {
      for index in results.indices where results[index] == nil { results[index] = error }
    }
    return results
  }

  /// Removes a folder and those above it, as far as they are empty. Returns the first that stays.
  private func removeEmptyFolders(_ path: String) -> String {
    var path = path
    while !path.isEmpty, unlinkat(root, path, AT_REMOVEDIR) == 0 || errno == ENOENT {
      path = Self.parent(of: path)
    }
    return path
  }

  private func sync(_ folders: Set<String>) -> SystemError? {
    if folders.count > Self.syncedAlone {
      return sluice_sync_all(root) == 0 ? nil : SystemError("syncing the store")
    }
    for path in folders {
      let folder = openat(root, path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if folder < 0 && errno == ENOENT { continue }
      defer { if folder >= 0 { close(folder) } }
      if folder < 0 || fsync(folder) != 0 { return SystemError("syncing the folder \(path)") }
    }
    return nil
  }

  public func discard(_ staged: StagedName) {
    unlinkat(root, "\(Self.incoming)/\(place(of: staged).text)", 0)
  }

  public func staged() throws(SystemError) -> [StagedName] {
    let descriptor = openat(root, Self.incoming, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return [] }
      throw SystemError("opening \(name)/\(Self.incoming)")
    }
    guard let folder = fdopendir(descriptor) else {
      close(descriptor)
      throw SystemError("listing \(name)/\(Self.incoming)")
    }
    defer { closedir(folder) }
    var names: [StagedName] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(StagedName(name)) }
    }
    return names
  }

  private func makeFolder(_ path: String) throws(SystemError) {
    if path.isEmpty || folders.withLock({ $0.contains(path) }) { return }
    if mkdirat(root, path, 0o700) != 0 && errno != EEXIST {
      guard errno == ENOENT else { throw SystemError("making the folder \(path)") }
      try makeFolder(Self.parent(of: path))
      if mkdirat(root, path, 0o700) != 0 && errno != EEXIST { throw SystemError("making the folder \(path)") }
    }
    folders.withLock {
      if $0.count >= 1024 { $0.removeAll(keepingCapacity: true) }
      $0.insert(path)
    }
  }

  private static func parent(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
  }
}
