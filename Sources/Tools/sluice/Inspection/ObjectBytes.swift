import Glibc
import HomeFolder
import LedgerPort
import Objects
import Pipeline
import Platform

/// The bytes of an attachment's object, compared with the hash on record while they are read.
struct ObjectBytes: ~Copyable {
  private let file: Descriptor
  private let id: String
  private let path: String
  private let sha256: [UInt8]
  private let hint: Hint
  let size: Int64

  /// Opens the object of an attachment, or the one that it keeps of an earlier attempt; `nil`: it has none.
  ///
  /// - Parameter derived: the name of one beside it; `nil`: its own.
  init?(
    of record: AttachmentRecord, _ derived: String? = nil, in home: Home, _ ledger: any LedgerMaintenance,
    _ hint: Hint
  ) throws {
    let id = record.origin.id
    let found =
      if let derived { try ledger.object(derived, besideAttachment: id) } else {
        try ledger.object(ofAttachment: id)
      }
    guard let object = found else { return nil }
    let (path, sha256) = (object.url, object.sha256)
    let root = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY)
    let opened: Descriptor?
    do throws(SystemError) {
      opened = try FileStore(root: root.number, home.storePath).open(path, of: id, sha256: sha256)
    } catch {
      throw Self.damage(id, path, error.reason, hint)
    }
    guard let file = opened else { throw Self.damage(id, path, "it is not in the store", hint) }
    var facts = stat()
    guard fstat(file.number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw Self.damage(id, path, "it is no regular file", hint)
    }
    self.file = file
    (self.id, self.path, self.sha256, self.hint) = (id, path, sha256, hint)
    size = Int64(facts.st_size)
  }

  /// Passes the object's bytes to a body, in pieces. Throws at the end where they are not those on record.
  func read(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let hash = try SHA256()
    hash.begin()
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    defer { piece.deallocate() }
    posix_fadvise(file.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    var offset: off_t = 0
    while true {
      let count = pread(file.number, piece.baseAddress, piece.count, offset)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw Self.damage(id, path, String(cString: strerror(errno)), hint) }
      if count == 0 { break }
      let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
      hash.add(bytes)
      try body(bytes)
      offset += off_t(count)
    }
    if hash.finish() != sha256 {
      throw Self.damage(id, path, "its content is not what was stored: another SHA-256", hint)
    }
  }

  private static func damage(_ id: String, _ path: String, _ reason: String, _ hint: Hint) -> CommandError {
    CommandError(
      .internalError,
      "the object of attachment \(id), \(Terminal.printable(path)): \(reason); \(hint("verify")) tells more, and with --repair "
        + "stores it again where its source is unchanged")
  }
}
