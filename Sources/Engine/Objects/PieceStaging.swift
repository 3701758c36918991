import CPlatform
import Glibc
import Platform

/// What stages have left beside one content, to be written to files.
public struct NewPieces: Sendable {
  /// Objects that are kept beside its own.
  public var objects: [NewObject] = []
  /// What was taken out of it.
  public var children: [FilePart] = []

  public init() {}
}

/// What became of pieces that were written: all of them are, and synced.
public struct StagedPieces: Sendable {
  /// The SHA-256 of each object.
  public var hashes: [[UInt8]]
  public var children: [ChildFile]

  public init(hashes: [[UInt8]], children: [ChildFile]) { (self.hashes, self.children) = (hashes, children) }
}

/// The file of a content that was taken out of another, named like that of an upload.
public struct ChildFile: Sendable {
  /// 32 hexadecimal digits, drawn at random.
  public var id: String
  public var path: String
  public var sha256: [UInt8]
  /// Nanoseconds since 1970.
  public var modified: Int64

  public init(id: String, path: String, sha256: [UInt8], modified: Int64) {
    (self.id, self.path, self.sha256, self.modified) = (id, path, sha256, modified)
  }
}

/// Writes pieces to files.
public struct PieceStaging: Sendable {
  private let store: FileStore
  /// The folder with what clients send.
  private let uploads: String

  public init(_ store: FileStore, uploads: String) { (self.store, self.uploads) = (store, uploads) }

  /// Writes and syncs those of some contents: of each all or none.
  public func write(_ sets: [NewPieces]) -> [Result<StagedPieces, SystemError>] {
    let objects = store.stage(sets.map(\.objects))
    let isFew = sets.reduce(0) { $0 + $1.children.count } <= Self.syncedAlone
    var results = zip(sets, objects).map { set, objects in
      objects.flatMap { hashes in
        Result { () throws(SystemError) in
          StagedPieces(hashes: hashes, children: try write(set.children, isSynced: isFew))
        }
      }
    }
    if sets.contains(where: { !$0.children.isEmpty }) {
      do throws(SystemError) {
        try sync(all: !isFew)
      } catch {
        for case .success(let staged) in results { for child in staged.children { unlink(child.path) } }
        results = results.map { _ in .failure(error) }
      }
    }
    for (set, result) in zip(sets, results) {
      if case .failure = result { for object in set.objects { store.discard(object.name) } }
    }
    return results
  }

  /// Files that are synced one by one, at most; more are synced with all that the file system has.
  private static let syncedAlone = 8

  private func write(_ children: [FilePart], isSynced: Bool) throws(SystemError) -> [ChildFile] {
    if children.isEmpty { return [] }
    if mkdir(uploads, 0o700) != 0 && errno != EEXIST { throw SystemError("making \(uploads)") }
    guard let resolved = realpath(uploads, nil) else { throw SystemError("finding \(uploads)") }
    defer { free(resolved) }
    let folder = String(cString: resolved)
    var files: [ChildFile] = []
    do throws(SystemError) {
      for child in children { files.append(try write(child, in: folder, isSynced: isSynced)) }
    } catch {
      for file in files { unlink(file.path) }
      throw error
    }
    return files
  }

  private func write(_ child: FilePart, in folder: String, isSynced: Bool) throws(SystemError) -> ChildFile {
    let id = Hexadecimal.text(try SystemRandom.bytes(16))
    let path = "\(folder)/\(id)"
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    var facts = stat()
    let hash = try SHA256()
    hash.begin()
    do throws(SystemError) {
      try child.each { (bytes) throws(SystemError) in
        hash.add(bytes)
        try Self.append(bytes, to: file.number, path)
      }
      if isSynced && fdatasync(file.number) != 0 || fstat(file.number, &facts) != 0 {
        throw SystemError("syncing \(path)")
      }
    } catch {
      unlink(path)
      throw error
    }
    let modified = Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
    return ChildFile(id: id, path: path, sha256: hash.finish(), modified: modified)
  }

  private static func append(
    _ bytes: UnsafeRawBufferPointer, to number: Int32, _ path: String
  ) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(number, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("writing \(path)") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  private func sync(all: Bool) throws(SystemError) {
    let folder = try Descriptor.open(uploads, O_RDONLY | O_DIRECTORY)
    let isSynced = all ? sluice_sync_all(folder.number) == 0 : fsync(folder.number) == 0
    if !isSynced { throw SystemError("syncing \(uploads)") }
  }
}
