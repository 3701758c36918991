import Glibc
import Platform

/// The folder the bench works in, and the state the machine is in when a run begins.
///
/// ext4 does not reuse the inode of a deleted file for some minutes, and looks past every one of them when it makes a
/// file: runs in the wake of `rm -r` were measured at half speed. So nothing is deleted before the end; what a run
/// stored is cut to nothing, which keeps the inodes. A bench soon after another says so.
final class Ground {
  /// Without symbolic links, which a source must not have.
  static let path: String = {
    let path = Settings.projectFolder + "/.build/bench"
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }()
  private static let stores = path + "/stores"
  static let inputs = path + "/inputs"
  private static let deleted = path + "/deleted"
  private var count = 0
  /// What runs have stored since it was last emptied.
  private var filled: [String] = []

  init() throws {
    try Files.makeFolder(Self.path)
    try delete()  // of a bench that was killed
    var facts = stat()
    if stat(Self.deleted, &facts) == 0, time(nil) - facts.st_mtim.tv_sec < 360 {
      progress("files of the last bench were deleted just now: figures may be low")
    }
    try Files.makeFolder(Self.stores)
    try Files.makeFolder(Self.inputs)
  }

  /// A folder's path that no run has had, not made yet.
  func store(_ name: String) -> String {
    count += 1
    filled.append("\(Self.stores)/\(count)-\(name)")
    return filled[filled.count - 1]
  }

  /// A path for a program's output.
  static func output(_ name: String) -> String { "\(path)/\(name).out" }

  /// Makes the next run start from the same state as every other.
  ///
  /// - Parameter input: the folder it will read. A kernel that gives up idle pages early made single runs four times
  ///   as long, so all is read from memory.
  func settle(reading input: String) throws {
    for folder in filled where Files.exists(folder) { try empty(folder) }
    filled.removeAll()
    var room = [UInt8](repeating: 0, count: 1 << 20)
    try Files.walk(input) { path, _ in
      let file = try Descriptor.open(path, O_RDONLY)
      while read(file.number, &room, room.count) > 0 {}
    }
    sync()  // or this run pays for the pages the last one left dirty
  }

  /// What was written so far is on the disk: nobody pays for it later.
  func settleDisk() { sync() }

  /// Gives the room of a folder's files back, and keeps the files.
  func empty(_ folder: String) throws {
    try Files.walk(folder) { path, facts in
      if facts.st_size > 0 && truncate(path, 0) != 0 { throw SystemError("emptying \(path)") }
    }
  }

  func delete() throws {
    for folder in [Self.stores, Self.inputs] where Files.exists(folder) {
      var count = 0
      try Files.walk(folder) { _, _ in count += 1 }
      try Files.delete(folder)
      if count > 1000 { try Files.write("", to: Self.deleted) }
    }
  }
}
