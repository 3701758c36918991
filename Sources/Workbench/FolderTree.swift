import Glibc
import Platform

/// Folders with all that is in them.
enum FolderTree {
  /// The names in a folder; none if it cannot be read.
  static func names(_ folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    return names(listing)
  }

  private static func names(_ listing: OpaquePointer) -> [String] {
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Deletes a folder as far as possible. Links in it are deleted, and what they name stays.
  static func remove(_ path: String) {
    empty(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    rmdir(path)
  }

  private static func empty(_ folder: Int32) {
    guard folder >= 0 else { return }
    guard let listing = fdopendir(folder) else {
      close(folder)
      return
    }
    defer { closedir(listing) }
    for name in names(listing) where unlinkat(folder, name, 0) != 0 {
      // A folder, or else a name that stays.
      empty(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
      unlinkat(folder, name, AT_REMOVEDIR)
    }
  }
}
