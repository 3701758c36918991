import Glibc
import Objects
import Platform
import Scheduler

// What stages leave beside contents is written to files: derived objects to the store in memory, children to a folder of their own.
extension Simulation {
  func stage(_ sets: [NewPieces]) {
    batches += 1
    world.arrange(
      microseconds: world.rest(of: .filesHang) + scenario.chance.integer(10...9000, "stage", "\(batches)")
    ) { [self] in
      let objects = world.store.stage(sets.map(\.objects))
      let results = zip(sets, objects).map { set, objects in
        objects.flatMap { hashes in
          Result { () throws(SystemError) in
            StagedPieces(hashes: hashes, children: try write(set))
          }
        }
      }
      return world.isDead ? [] : [.staged(results)]
    }
  }

  /// All or none. As the machine does it, all is synced before it is told, so that a power loss takes nothing of it.
  private func write(_ set: NewPieces) throws(SystemError) -> [ChildFile] {
    var files: [ChildFile] = []
    do throws(SystemError) {
      for part in set.children { files.append(try write(part)) }
    } catch {
      for file in files { unlink(file.path) }
      for object in set.objects { world.store.discard(object.name) }
      throw error
    }
    return files
  }

  private func write(_ part: FilePart) throws(SystemError) -> ChildFile {
    if world.isUnder(.diskFull) { throw SystemError("writing a content", code: ENOSPC) }
    var bytes: [UInt8] = []
    try part.each { bytes += $0 }
    let content = String(decoding: bytes, as: UTF8.self)
    writtenContents += 1
    let id = String(Chance.digest(of: "content \(writtenContents)").prefix(32))
    let path = "\(uploads)/\(id)"
    if world.takesEffect("a content") {
      world.trace.note("write \(id)")
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      close(file)
      if count != bytes.count { throw SystemError("writing \(path)") }
    }
    return ChildFile(
      id: id, path: path, sha256: Hexadecimal.bytes(Chance.digest(of: content)) ?? [], modified: 0)
  }
}
