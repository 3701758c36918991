import Glibc
import Platform

/// What a store takes on the disk. Equal content is stored once and linked, so that each inode counts once.
struct StoreSize {
  private(set) var bytes: Int64 = 0
  /// Names, of which several may be one object.
  private(set) var files: Int64 = 0
  /// False: measuring was given up, and there is more.
  private(set) var isComplete = true
  private var linked: Set<ino_t> = []

  /// Walks a store for so many milliseconds at most: one of many millions of files is no reason to wait.
  init(of path: String, atMost milliseconds: UInt64 = 25) {
    let deadline = Clock.monotonic() + milliseconds * 1_000_000
    // Paths and not descriptors: a wide store would need more of these than a process may have.
    var folders = [path]
    while let folder = folders.popLast() {
      guard let listing = opendir(folder) else { continue }
      defer { closedir(listing) }
      while let entry = readdir(listing) {
        if Clock.monotonic() > deadline {
          isComplete = false
          return
        }
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) + [0] }
        if name == [0x2E, 0] || name == [0x2E, 0x2E, 0] { continue }
        var facts = stat()
        let found = name.withUnsafeBytes { bytes in
          bytes.baseAddress.map {
            fstatat(dirfd(listing), $0.assumingMemoryBound(to: CChar.self), &facts, AT_SYMLINK_NOFOLLOW)
          }
        }
        // What a coordinator moved on meanwhile is counted the next time.
        guard found == 0 else { continue }
        if facts.st_mode & S_IFMT == S_IFDIR {
          folders.append(folder + "/" + String(decoding: name.dropLast(), as: UTF8.self))
        } else {
          files += 1
          if facts.st_nlink > 1 && !linked.insert(facts.st_ino).inserted { continue }
        }
        bytes += Int64(facts.st_blocks) * 512
      }
    }
  }
}
