import CPlatform
import Glibc
import Platform

extension FileStore {
  /// Files that are synced one by one, at most; more are synced with all that the file system has.
  private static let syncedAlone = 8

  public func stage(_ sets: [[NewObject]]) -> [Result<[[UInt8]], SystemError>] {
    let isFew = sets.reduce(0) { $0 + $1.count } <= Self.syncedAlone
    var results = sets.map { objects in
      Result { () throws(SystemError) in try write(objects, isSynced: isFew) }
    }
    do throws(SystemError) {
      try syncIncoming(all: !isFew)
    } catch {
      results = results.map { _ in .failure(error) }
    }
    for (objects, result) in zip(sets, results) {
      if case .failure = result { for object in objects { discard(object.name) } }
    }
    return results
  }

  private func write(_ objects: [NewObject], isSynced: Bool) throws(SystemError) -> [[UInt8]] {
    if mkdirat(root, Self.incoming, 0o777) != 0 && errno != EEXIST {
      throw SystemError("making \(name)/\(Self.incoming)")
    }
    var hashes: [[UInt8]] = []
    for object in objects { hashes.append(try stage(object, isSynced: isSynced)) }
    return hashes
  }

  /// Writes an object, and measures what it writes.
  private func stage(_ object: NewObject, isSynced: Bool) throws(SystemError) -> [UInt8] {
    let path = "\(Self.incoming)/\(object.name.text)"
    let number = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o666)
    if number < 0 { throw SystemError("making the object \(name)/\(path)") }
    let file = Descriptor(owning: number)
    let hash = try SHA256()
    hash.begin()
    try object.content.each { (bytes) throws(SystemError) in
      hash.add(bytes)
      var rest = bytes
      while !rest.isEmpty {
        let count = Glibc.write(file.number, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        if count < 0 { throw SystemError("writing the object \(name)/\(path)") }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
    if isSynced && fdatasync(file.number) != 0 { throw SystemError("syncing the object \(name)/\(path)") }
    return hash.finish()
  }

  private func syncIncoming(all: Bool) throws(SystemError) {
    if all {
      if sluice_sync_all(root) != 0 { throw SystemError("syncing \(name)") }
      return
    }
    let folder = openat(root, Self.incoming, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder < 0 { throw SystemError("opening \(name)/\(Self.incoming)") }
    defer { close(folder) }
    if fsync(folder) != 0 { throw SystemError("syncing \(name)/\(Self.incoming)") }
  }
}

/// An object that is to be staged.
public struct NewObject: Sendable {
  public var name: StagedName
  public var content: FilePart

  public init(_ name: StagedName, _ content: FilePart) { (self.name, self.content) = (name, content) }
}

/// A part of a file with pieces.
public struct FilePart: Sendable {
  private let file: PieceFile
  private let range: Range<Int64>

  public init(_ file: PieceFile, _ range: Range<Int64>) { (self.file, self.range) = (file, range) }

  /// Passes its bytes to a body, a piece at a time.
  public func each(_ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void) throws(SystemError) {
    let room = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(max(range.upperBound - range.lowerBound, 1), 1 << 20)), alignment: 16)
    defer { room.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = pread(
        file.descriptor, room.baseAddress, min(room.count, Int(range.upperBound - offset)), off_t(offset))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("reading what a stage has derived") }
      if count == 0 { throw SystemError("reading what a stage has derived", code: EIO) }
      try body(UnsafeRawBufferPointer(rebasing: room[..<count]))
      offset += Int64(count)
    }
  }
}
