import CPlatform
import Glibc
import Ledger
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
    var space = statvfs()
    if statvfs(path, &space) == 0 {
      let (available, overflow) = Int64(clamping: space.f_bavail).multipliedReportingOverflow(
        by: Int64(clamping: space.f_frsize))
      if !overflow && available - Self.reserve < length ?? 0 {
        throw SystemError("making room for an upload", code: ENOSPC)
      }
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
    let folder = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    if fsync(folder.number) != 0 { throw SystemError("syncing \(path)") }
  }

  /// Opens the file of an upload; one that is lost is made anew, and begins at 0.
  func open(_ id: String) throws(SystemError) -> Descriptor {
    do throws(SystemError) {
      return try Descriptor.open(file(of: id), O_RDWR | O_NOFOLLOW)
    } catch {
      if error.code != ENOENT { throw error }
      try make(id, length: nil)
      return try Descriptor.open(file(of: id), O_RDWR | O_NOFOLLOW)
    }
  }

  /// Bytes that are there of it.
  func size(_ file: borrowing Descriptor) throws(SystemError) -> (size: Int64, modified: Int64) {
    var facts = stat()
    if fstat(file.number, &facts) != 0 { throw SystemError("looking at an upload") }
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

  func delete(_ id: String) { unlink(file(of: id)) }

  /// The ids of all files.
  func ids() -> [String] {
    guard let listing = opendir(path) else { return [] }
    defer { closedir(listing) }
    var ids: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if Tus.isId(name) { ids.append(name) }
    }
    return ids
  }
}
