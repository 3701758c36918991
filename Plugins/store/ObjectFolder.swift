import CPlatform
import Glibc
import StageKit

/// The store's folder: objects by path, and a folder of incoming ones.
final class ObjectFolder {
  private let root: Int32
  private let incoming: Int32
  /// Folders with a new name in them, to be synced before the names count.
  private var changed: Set<String> = []
  /// Folders known to be there.
  private var known: Set<String> = []
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)

  /// Where objects lie before they have their path. The name begins with `.`, as no path's part may.
  private static let incomingName = ".incoming"

  init(_ root: Int32) throws(Outcome) {
    self.root = root
    if mkdirat(root, Self.incomingName, 0o700) != 0 && errno != EEXIST {
      throw Self.fault("making .incoming")
    }
    incoming = openat(root, Self.incomingName, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    if incoming < 0 { throw Self.fault("opening .incoming") }
  }

  // MARK: Making the object

  /// Writes a copy under a temporary name and leaves it open for syncing.
  func copy(_ attachment: Attachment, to name: String) throws(Outcome) -> Int32 {
    let target = openat(incoming, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if target < 0 { throw Self.fault("making an object") }
    do throws(Outcome) {
      var offset: Int64 = 0
      while true {
        let count = try attachment.read(into: buffer, at: offset)
        if count == 0 { break }
        try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target)
        offset += Int64(count)
      }
      if offset != attachment.size {
        throw .retry("source-changed", "\(offset) bytes were read where \(attachment.size) were measured")
      }
      try attachment.checkUnchanged()
      return target
    } catch {
      close(target)
      unlinkat(incoming, name, 0)
      throw error
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer, to target: Int32) throws(Outcome) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(target, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw Self.fault("writing an object") }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  /// Links a stored object with the same content under a temporary name. False where it cannot serve: it is gone, has
  /// another length, or has as many links as the file system allows.
  func link(_ object: String, size: Int64, to name: String) throws(Outcome) -> Bool {
    var facts = stat()
    guard fstatat(root, object, &facts, AT_SYMLINK_NOFOLLOW) == 0, facts.st_size == size,
      sluice_file_type(facts.st_mode) == S_IFREG
    else { return false }
    unlinkat(incoming, name, 0)
    if linkat(root, object, incoming, name, 0) == 0 { return true }
    switch errno {
    case EMLINK, ENOENT, EPERM, EXDEV, EOPNOTSUPP: return false
    default: throw Self.fault("linking an object")
    }
  }

  // MARK: The barrier

  /// Syncs the copies' data. All are started before the first is waited for, so that the disk works on them together.
  func sync(_ copies: [Copy]) {
    for copy in copies where copy.descriptor >= 0 { sluice_start_sync(copy.descriptor) }
  }

  /// Gives an object its path, once its data is safe.
  func place(_ copy: Copy) throws(Outcome) {
    if copy.descriptor >= 0 {
      let failure = fdatasync(copy.descriptor) == 0 ? 0 : errno
      close(copy.descriptor)
      if failure != 0 { throw Self.fault("syncing an object", failure) }
    }
    let folder = Self.folder(of: copy.path)
    try make(folder)
    changed.insert(folder)
    if sluice_rename_new(incoming, copy.temporaryName, root, copy.path) == 0 { return }
    guard errno == EEXIST else { throw Self.fault("naming an object") }
    try replace(copy)
  }

  /// Something lies at the path. The same content: a replay, and the path may become a link to the twin. Other content:
  /// taken, and it stays as it is.
  private func replace(_ copy: Copy) throws(Outcome) {
    guard try sameContent(copy) else {
      throw .reject("path-taken", "another object lies at \(copy.path); let the template tell the two apart")
    }
    if renameat(incoming, copy.temporaryName, root, copy.path) != 0 { throw Self.fault("naming an object") }
    // Two names of one object: renaming one to the other does nothing and leaves both (rename(2)).
    unlinkat(incoming, copy.temporaryName, 0)
  }

  private func sameContent(_ copy: Copy) throws(Outcome) -> Bool {
    let mine = openat(incoming, copy.temporaryName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if mine < 0 { throw Self.fault("reading an object") }
    defer { close(mine) }
    let other = openat(root, copy.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if other < 0 { return false }
    defer { close(other) }
    let half = buffer.count / 2
    var offset: off_t = 0
    while true {
      let first = pread(mine, buffer.baseAddress, half, offset)
      let second = pread(other, buffer.baseAddress?.advanced(by: half), half, offset)
      guard let start = buffer.baseAddress, first >= 0, first == second else { return false }
      if first == 0 { return true }
      if memcmp(start, start + half, first) != 0 { return false }
      offset += off_t(first)
    }
  }

  /// Takes away what did not become an object.
  func discard(_ copy: Copy) {
    unlinkat(incoming, copy.temporaryName, 0)
  }

  /// Makes the new names durable: syncs each folder that has one.
  func syncFolders() throws(Outcome) {
    for folder in changed {
      let descriptor = folder.isEmpty ? dup(root) : openat(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor < 0 { throw Self.fault("opening a folder") }
      let failure = fsync(descriptor) == 0 ? 0 : errno
      close(descriptor)
      if failure != 0 { throw Self.fault("syncing a folder", failure) }
    }
    changed.removeAll(keepingCapacity: true)
  }

  // MARK: Folders

  private func make(_ folder: String) throws(Outcome) {
    if folder.isEmpty || known.contains(folder) { return }
    let parent = Self.folder(of: folder)
    try make(parent)
    if mkdirat(root, folder, 0o700) != 0 && errno != EEXIST { throw Self.fault("making a folder") }
    // Also where it was there: whoever made it may have been stopped before syncing its name.
    changed.insert(parent)
    if known.count >= 4096 { known.removeAll(keepingCapacity: true) }
    known.insert(folder)
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// The outcome of a failed system call, from errno.
  private static func fault(_ doing: String, _ number: Int32 = errno) -> Outcome {
    let reason = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT: return .pause("disk-full", "\(doing): \(reason); make room, then run again")
    case ENAMETOOLONG: return .fail("path-too-long", "\(doing): \(reason)")
    case EROFS, EACCES, EPERM:
      return .pause("store-unwritable", "\(doing): \(reason); make the store writable")
    default: return .retry("store-unwritable", "\(doing): \(reason)")
    }
  }
}
