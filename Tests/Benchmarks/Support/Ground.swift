import Glibc
import Platform

/// A folder on one of the disks, and the state of the machine when a run begins.
///
/// ext4 does not reuse the inode of a deleted file for some minutes, and skips each of them when it creates a
/// file: runs after `rm -r` were measured at half speed. So nothing is deleted before the end; the files of a
/// run are truncated, which keeps the inodes. On a disk that is not made for the bench, one that starts soon
/// after another says so.
final class Ground {
  /// The folder of the bench, without symbolic links, which a source must not have: programs, pipelines and outputs.
  static let path = Settings.absolute(Settings.projectFolder + "/.build") + "/bench"

  let disk: Disk
  private let folder: String
  /// The disk was there before the bench, and is there after it.
  private let isKept: Bool
  private var stores: String { folder + "/stores" }
  var inputs: String { folder + "/inputs" }
  private var deleted: String { folder + "/deleted" }
  private var count = 0
  /// The folders stored to since the last cleanup.
  private var filled: [String] = []

  /// - Parameters:
  ///   - folder: on the disk.
  ///   - origin: what that is.
  ///   - isKept: the disk is not made for the bench.
  init(_ folder: String, origin: String, isKept: Bool = false) throws {
    self.folder = folder
    self.isKept = isKept
    try Files.makeFolder(folder)
    disk = try Disk(folder, origin: origin)
    try delete()  // left by a killed bench
    var facts = stat()
    if stat(deleted, &facts) == 0, time(nil) - facts.st_mtim.tv_sec < 360 {
      progress("files of the last bench were deleted just now: figures may be low")
    }
    try Files.makeFolder(stores)
    try Files.makeFolder(inputs)
  }

  /// The path of a new folder, not created yet.
  func store(_ name: String) -> String {
    count += 1
    filled.append("\(stores)/\(count)-\(name)")
    return filled[filled.count - 1]
  }

  /// A path for a program's output.
  static func output(_ name: String) -> String { "\(path)/\(name).out" }

  /// Puts the machine into the same state before each run.
  ///
  /// - Parameter input: the folder that the run will read. A kernel that dropped idle pages early made single
  ///   runs four times as long, so everything is read into memory first.
  func settle(reading input: String) throws {
    try emptyStores()
    var room = [UInt8](repeating: 0, count: 1 << 20)
    try Files.walk(input) { path, _ in
      let file = try Descriptor.open(path, O_RDONLY)
      while read(file.number, &room, room.count) > 0 {}
    }
    sync()  // otherwise this run pays for the dirty pages of the last one
  }

  /// Gives back the room of what was stored since the last time.
  func emptyStores() throws {
    for folder in filled where Files.exists(folder) { try empty(folder) }
    filled.removeAll()
  }

  /// Syncs everything written so far, so that no later run pays for it.
  func settleDisk() { sync() }

  /// - Parameter bytes: what a row needs at once. It is left out where the disk has less.
  func needs(_ bytes: Int64) throws {
    var facts = statvfs()
    if statvfs(folder, &facts) != 0 { throw SystemError("looking at \(folder)") }
    let free = Int64(facts.f_bavail) * Int64(facts.f_frsize)
    if free < bytes {
      throw Skipped(reason: "it needs \(bytes >> 20) MiB on \(disk.fileSystem), and \(free >> 20) are free")
    }
  }

  /// Truncates a folder's files, and keeps them.
  func empty(_ folder: String) throws {
    try Files.walk(folder) { path, facts in
      if facts.st_size > 0 && truncate(path, 0) != 0 { throw SystemError("emptying \(path)") }
    }
  }

  /// Deletes what was made on a disk that stays.
  func delete() throws {
    if !isKept { return }
    for folder in [stores, inputs] where Files.exists(folder) {
      var count = 0
      try Files.walk(folder) { _, _ in count += 1 }
      try Files.delete(folder)
      if count > 1000 { try Files.write("", to: deleted) }
    }
  }
}
