import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Wire

/// The folder in the home where transfers lie until their attachments have ended: one file for each, named by its key.
package struct DownloadsFolder: Sendable {
  /// Its path.
  package var path: String
  /// That of the store, where a content may lie that was fetched before.
  package var store: String

  package init(path: String, store: String) {
    self.path = path
    self.store = store
  }

  package init(_ home: Home) { self.init(path: home.downloadsPath, store: home.storePath) }

  private static let suffix = ".part"

  func file(of transfer: Int64) -> String { "\(path)/\(transfer)\(Self.suffix)" }

  /// The file of a transfer to read and write; made where there is none.
  func open(_ transfer: Int64) -> Source.Opening {
    mkdir(path, 0o700)
    var folder = stat()
    if lstat(path, &folder) != 0 || folder.st_mode & S_IFMT != S_IFDIR {
      return .failed(
        SourceFault(
          "unwritable", "\(path) is no folder, or a link to one; take it away, so that one is made", .pause))
    }
    var descriptor = Glibc.open(file(of: transfer), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    var facts = stat()
    if descriptor >= 0, fstat(descriptor, &facts) == 0, facts.st_nlink > 1 {
      // It is an object, too: that is not to be written to.
      close(descriptor)
      delete(transfer)
      descriptor = Glibc.open(
        file(of: transfer), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    if descriptor < 0 || fstat(descriptor, &facts) != 0 {
      let code = errno
      if descriptor >= 0 { close(descriptor) }
      let full = code == ENOSPC || code == EDQUOT
      return .failed(
        SourceFault(
          full ? "disk-full" : "unwritable",
          "making \(file(of: transfer)): \(String(cString: strerror(code)))", .pause))
    }
    return .opened(descriptor, FileState(facts))
  }

  /// Why so many bytes more do not fit; `nil`: they do. It asks the file system of the home, which the ledger lies on, too.
  ///
  /// - Parameter free: bytes that are to stay free.
  func lackOfRoom(for bytes: Int64, leaving free: Int64) -> String? {
    var space = statvfs()
    guard statvfs(path, &space) == 0 else { return nil }
    let (available, isEndless) = Int64(clamping: space.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: space.f_frsize))
    let (needed, isTooMuch) = free.addingReportingOverflow(bytes)
    if isEndless || !isTooMuch && available >= needed { return nil }
    let coming = bytes > 0 ? "; \(ByteSize.rounded(bytes)) are still to come" : ""
    return
      "\(path) has \(ByteSize.rounded(available)) free\(coming), and \(ByteSize.rounded(free)) are to stay free"
  }

  /// Bytes on disk of what is not an object yet.
  var held: Int64 {
    guard let entries = opendir(path) else { return 0 }
    defer { closedir(entries) }
    var blocks: Int64 = 0
    while let entry = readdir(entries) {
      var facts = stat()
      let isThere = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) {
          fstatat(dirfd(entries), $0, &facts, AT_SYMLINK_NOFOLLOW) == 0
        }
      }
      if isThere, facts.st_mode & S_IFMT == S_IFREG, facts.st_nlink == 1 { blocks += Int64(facts.st_blocks) }
    }
    return blocks * 512
  }

  /// What was fetched, to read: the transfer's file, or else its object.
  func open(fetched transfer: Int64, object: String?) -> Source.Opening {
    let paths = [file(of: transfer)] + (object.map { ["\(store)/\($0)"] } ?? [])
    return open(oneOf: paths)
      ?? .failed(
        SourceFault(
          "not-here", "what was fetched is neither in the home nor in the store any more", .fetchAgain))
  }

  /// An object of the store, to read.
  func open(object: String) -> Source.Opening {
    open(oneOf: ["\(store)/\(object)"])
      ?? .failed(
        SourceFault(
          "object-missing",
          "store/\(object) is not there any more; bring it back from a backup and retry, or delete the attachment",
          .retry))
  }

  /// `nil`: none of them can be opened as a file.
  private func open(oneOf paths: [String]) -> Source.Opening? {
    for path in paths {
      let descriptor = sluice_open_source(path)
      var facts = stat()
      if descriptor < 0 { continue }
      if fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG {
        return .opened(descriptor, FileState(facts))
      }
      close(descriptor)
    }
    return nil
  }

  package func delete(_ transfer: Int64) { unlink(file(of: transfer)) }

  /// Deletes the files of all other transfers.
  package func sweep(keeping transfers: Set<Int64>) {
    guard let listing = opendir(path) else { return }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.hasSuffix(Self.suffix), let key = Int64(name.dropLast(Self.suffix.count)) else { continue }
      if !transfers.contains(key) { delete(key) }
    }
  }
}
