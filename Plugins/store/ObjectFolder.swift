import CPlatform
import Glibc
import StageKit

/// The store's folder: objects by path, and a folder of incoming objects.
final class ObjectFolder {
  private let root: Int32
  private let incoming: Int32
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)

  /// The host uses the same name. It begins with `.`, which no part of an object's path may.
  private static let incomingName = ".incoming"

  init(_ root: Int32) throws(Outcome) {
    self.root = root
    if mkdirat(root, Self.incomingName, 0o700) != 0 && errno != EEXIST {
      throw Self.fault("making .incoming")
    }
    incoming = openat(root, Self.incomingName, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    if incoming < 0 { throw Self.fault("opening .incoming") }
    if fsync(root) != 0 { throw Self.fault("syncing the store's folder") }
  }

  deinit {
    close(incoming)
    buffer.deallocate()
  }

  // MARK: Existing objects

  /// Whether the path holds exactly this content. Throws a rejection if it holds other content.
  func holds(_ attachment: Attachment, at path: String) throws(Outcome) -> Bool {
    let other = openat(root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if other < 0 {
      if errno == ENOENT { return false }
      throw errno == ENOTDIR ? Self.taken(path) : Self.fault("looking at \(path)")
    }
    defer { close(other) }
    if try isSame(attachment, other) { return true }
    throw Self.taken(path)
  }

  /// Whether an open file has the attachment's content, byte for byte.
  private func isSame(_ attachment: Attachment, _ other: Int32) throws(Outcome) -> Bool {
    let half = buffer.count / 2
    let first = UnsafeMutableRawBufferPointer(rebasing: buffer[..<half])
    var offset: Int64 = 0
    while true {
      let count = try attachment.read(into: first, at: offset)
      let same = pread(other, buffer.baseAddress?.advanced(by: half), half, off_t(offset))
      guard let start = buffer.baseAddress, count == same, memcmp(start, start + half, count) == 0 else {
        return false
      }
      if count == 0 {
        try attachment.checkUnchanged()
        return true
      }
      offset += Int64(count)
    }
  }

  // MARK: Making an object

  /// Writes a copy and leaves it open for syncing.
  func copy(_ attachment: Attachment) throws(Outcome) -> Copy {
    // The file of an earlier attempt may be a link to another attachment's object: remove it, and never write
    // to it.
    unlinkat(incoming, attachment.stagedName, 0)
    let target = openat(
      incoming, attachment.stagedName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if target < 0 { throw Self.fault("making an object") }
    do throws(Outcome) {
      var offset = try copyInKernel(attachment, to: target)
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
      return Copy(attachment: attachment, descriptor: target)
    } catch {
      close(target)
      unlinkat(incoming, attachment.stagedName, 0)
      throw error
    }
  }

  /// Has the kernel copy: without a way through this process, or with extents that both files share where the disk can do that
  /// (copy_file_range(2)).
  ///
  /// - Returns: so many bytes were copied. Where the kernel cannot copy between the two, none.
  private func copyInKernel(_ attachment: Attachment, to target: Int32) throws(Outcome) -> Int64 {
    var offset: off_t = 0
    while true {
      let count = sluice_copy(attachment.content, &offset, target, 1 << 30)
      if count == 0 { return Int64(offset) }
      if count > 0 || errno == EINTR { continue }
      switch errno {
      // Those of a disk as well: reading and writing step by step shows which of the two failed.
      case EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EBADF, EPERM, EACCES, EIO: return Int64(offset)
      default: throw Self.fault("writing an object")
      }
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

  /// Links a file of the store with the same content. `nil` if it is gone, is damaged, or has the maximum number of links.
  ///
  /// A stored object is read and compared, because damage must not spread from one attachment to the next; reading costs less than
  /// writing and syncing a copy. The content's own file is not: it is left open to be synced, for it never was an object.
  func link(_ object: String, to attachment: Attachment) throws(Outcome) -> Copy? {
    let other = openat(root, object, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if other < 0 { return nil }
    var isLeftOpen = false
    defer { if !isLeftOpen { close(other) } }
    var (facts, own) = (stat(), stat())
    guard fstat(other, &facts) == 0, fstat(attachment.content, &own) == 0, facts.st_size == attachment.size,
      sluice_file_type(facts.st_mode) == S_IFREG
    else { return nil }
    let isOne = facts.st_dev == own.st_dev && facts.st_ino == own.st_ino
    if !isOne {
      guard try isSame(attachment, other) else { return nil }
    }
    unlinkat(incoming, attachment.stagedName, 0)
    if linkat(root, object, incoming, attachment.stagedName, 0) == 0 {
      isLeftOpen = isOne
      return Copy(attachment: attachment, descriptor: isOne ? other : -1)
    }
    switch errno {
    case EMLINK, ENOENT, EPERM, EXDEV, EOPNOTSUPP: return nil
    default: throw Self.fault("linking an object")
    }
  }

  // MARK: The barrier

  /// Starts writing a copy to disk without waiting, so that the disk can work on the whole batch.
  func startSync(_ copy: Copy) {
    if copy.descriptor >= 0 { sluice_start_sync(copy.descriptor) }
  }

  /// Makes a copy's data durable.
  func sync(_ copy: Copy) throws(Outcome) {
    if copy.descriptor < 0 { return }
    let failure = fdatasync(copy.descriptor) == 0 ? 0 : errno
    close(copy.descriptor)
    if failure == 0 { return }
    unlinkat(incoming, copy.attachment.stagedName, 0)
    throw Self.fault("syncing an object", failure)
  }

  /// Makes the names in the incoming folder durable.
  func syncNames() throws(Outcome) {
    if fsync(incoming) != 0 { throw Self.fault("syncing .incoming") }
  }

  // MARK: Faults

  private static func taken(_ path: String) -> Outcome {
    .reject(
      "path-taken",
      "another object lies at \(path); let the template tell the two apart, such as with {attachmentId}")
  }

  /// The outcome of a failed system call.
  private static func fault(_ doing: String, _ number: Int32 = errno) -> Outcome {
    let reason = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT: return .pause("disk-full", "\(doing): \(reason); make room, then run again")
    case ENAMETOOLONG: return .fail("path-too-long", "\(doing): \(reason)")
    case EROFS, EACCES, EPERM:
      return .pause("store-unwritable", "\(doing): \(reason); make the store writable, then run again")
    default: return .retry("store-unwritable", "\(doing): \(reason)")
    }
  }
}
