import Glibc
import Platform

/// The disk space that a store takes. Equal content is stored once and linked, so each inode counts once.
struct StoreSize {
  private(set) var bytes: Int64 = 0
  /// The number of names; several names may be one object.
  private(set) var files: Int64 = 0
  /// False: the time limit was reached, and there is more.
  private(set) var isComplete = true
  private var linked: Set<ino_t> = []

  /// Walks a store for at most so many milliseconds, because a store may hold many millions of files.
  init(of path: String, atMost milliseconds: UInt64 = 25) {
    let deadline = Clock.monotonic() + milliseconds * 1_000_000
    // Keep paths instead of descriptors: a wide store would exceed the limit on descriptors.
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
        // Moved by a coordinator meanwhile; counted the next time.
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
