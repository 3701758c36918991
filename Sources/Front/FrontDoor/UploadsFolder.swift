import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Platform

/// The folder in the home where what clients send lies: one file for each upload, named by its id.
struct UploadsFolder: Sendable {
  let path: String

  /// Bytes that stay free on its disk.
  private static let reserve: Int64 = 64 << 20

  init(_ home: Home) { path = home.uploadsPath }

  func file(of id: String) -> String { "\(path)/\(id)" }

  /// Makes the file of an upload, and reserves room for it.
  ///
  /// - Throws: ENOSPC, where that would leave too little.
  func make(_ id: String, length: Int64?) throws(SystemError) {
    mkdir(path, 0o700)
    if let free = Self.freeBytes(path), free - Self.reserve < length ?? 0 {
      throw SystemError("making room for an upload", code: ENOSPC)
    }
    let file = try Descriptor.open(file(of: id), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    if let length, length > 0, sluice_reserve(file.number, length) != 0,
      errno == ENOSPC || errno == EDQUOT
    {
      let error = SystemError("making room for an upload")
      unlink(self.file(of: id))
      throw error
    }
    // So that its name outlasts a power failure; the bytes are synced as they come.
    try sync()
  }

  /// A file for a content that is not kept; -1: see errno.
  func unnamedFile() -> Int32 {
    mkdir(path, 0o700)
    return sluice_unnamed_file(path)
  }

  /// Whether there is room for an upload of any size.
  var hasRoom: Bool {
    let home = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    return Self.freeBytes(home).map { $0 >= Self.reserve } ?? true
  }

  /// Bytes that may still be written on the disk of a folder; `nil`: that is not known.
  static func freeBytes(_ path: String) -> Int64? {
    var space = statvfs()
    guard statvfs(path, &space) == 0 else { return nil }
    let (free, overflow) = Int64(clamping: space.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: space.f_frsize))
    return overflow ? .max : free
  }

  private func sync() throws(SystemError) {
    let folder = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    if fsync(folder.number) != 0 { throw SystemError("syncing \(path)") }
  }

  /// Opens the file of an upload. It never makes one.
  ///
  /// - Parameter isAlone: no request is at it: bytes that came with a checksum and were never compared with it are taken back.
  /// - Returns: `nil`: it has none.
  func open(_ id: String, isAlone: Bool) throws(SystemError) -> Descriptor? {
    if isAlone { try settle(id) }
    do throws(SystemError) {
      return try Descriptor.open(file(of: id), O_RDWR | O_NOFOLLOW)
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  // MARK: Bytes that do not count yet

  // A file beside that of the upload says from where its bytes count only once they were compared with their checksum: the program
  // may be killed before that.

  private static let doubts = UploadRecord.doubtEnding

  private func doubt(of id: String) -> String { file(of: id) + Self.doubts }

  /// Bytes from an offset on do not count until ``trust(_:)``.
  func doubt(_ id: String, from offset: Int64) throws(SystemError) {
    let file = try Descriptor.open(doubt(of: id), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
    var offset = offset.littleEndian
    if write(file.number, &offset, 8) != 8 || fsync(file.number) != 0 {
      let error = SystemError("writing \(doubt(of: id))")
      unlink(doubt(of: id))
      throw error
    }
    try sync()
  }

  /// All bytes count.
  func trust(_ id: String) throws(SystemError) {
    if unlink(doubt(of: id)) == 0 { try sync() }
  }

  func isDoubted(_ id: String) -> Bool { access(doubt(of: id), F_OK) == 0 }

  /// From where bytes do not count; `nil`: all do.
  private func doubted(_ id: String) -> Int64? {
    guard let file = try? Descriptor.open(doubt(of: id), O_RDONLY | O_NOFOLLOW) else { return nil }
    var offset: Int64 = 0
    // One that is not whole was written before any byte came.
    if read(file.number, &offset, 8) != 8 { return nil }
    return Int64(littleEndian: offset)
  }

  /// Takes back bytes that were never compared.
  func settle(_ id: String) throws(SystemError) {
    if let offset = doubted(id) { try cut(id, to: offset) }
  }

  /// Takes back what comes after a size.
  func cut(_ id: String, to size: Int64) throws(SystemError) {
    do throws(SystemError) {
      let file = try Descriptor.open(file(of: id), O_RDWR | O_NOFOLLOW)
      if ftruncate(file.number, off_t(size)) != 0 || fdatasync(file.number) != 0 {
        throw SystemError("shortening an upload")
      }
    } catch {
      // Else nothing is left of it.
      if error.code != ENOENT { throw error }
    }
    try trust(id)
  }

  /// Bytes that are there of it.
  func size(_ file: Int32) throws(SystemError) -> (size: Int64, modified: Int64) {
    var facts = stat()
    if fstat(file, &facts) != 0 { throw SystemError("looking at an upload") }
    return (
      Int64(facts.st_size), Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
    )
  }

  /// The path of an upload's file from the root.
  func absolutePath(of id: String) throws(SystemError) -> [UInt8] {
    guard let resolved = realpath(file(of: id), nil) else { throw SystemError("finding an upload") }
    defer { Glibc.free(resolved) }
    return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
  }

  func delete(_ id: String) {
    unlink(file(of: id))
    unlink(doubt(of: id))
  }

  /// Bytes that are there of an upload; `nil`: it has no file.
  func size(_ id: String) -> Int64? {
    var facts = stat()
    return lstat(file(of: id), &facts) == 0 ? Int64(facts.st_size) : nil
  }
}
