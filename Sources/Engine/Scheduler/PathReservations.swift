/// Paths of objects that are stored and have not got them yet, with the content that goes there.
///
/// Paths are told apart by their bytes, as the kernel does: to Swift, texts are equal that the file system tells apart.
struct PathReservations {
  /// An array would be hashed byte by byte.
  private struct Path: Hashable {
    var bytes: ArraySlice<UInt8>

    init(_ text: String) { bytes = ArraySlice(text.utf8) }
    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    func hash(into hasher: inout Hasher) {
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// `a` and `a/b` of `a/b/c`.
    var folders: some Sequence<Path> {
      bytes.indices.lazy.filter { bytes[$0] == UInt8(ascii: "/") }.map { Path(bytes[..<$0]) }
    }
  }

  private struct Holders {
    /// Of the content; those that share a path have the same.
    var sha256: String?
    var count: Int
  }

  private var holders: [Path: Holders] = [:]
  /// How many reserved paths lie below a folder.
  private var below: [Path: Int] = [:]

  /// Reserves a path for one more object. False: the path, or one above or below it, is another content's.
  mutating func insert(_ path: String, _ sha256: String?) -> Bool {
    let path = Path(path)
    if let others = holders[path] {
      if others.sha256 != sha256 { return false }
      holders[path]?.count += 1
      return true
    }
    if below[path] != nil || path.folders.contains(where: { holders[$0] != nil }) { return false }
    holders[path] = Holders(sha256: sha256, count: 1)
    for folder in path.folders { below[folder, default: 0] += 1 }
    return true
  }

  /// Takes back one reservation that was made.
  mutating func remove(_ path: String) {
    let path = Path(path)
    guard let count = holders[path]?.count else { return }
    if count > 1 {
      holders[path]?.count = count - 1
      return
    }
    holders[path] = nil
    for folder in path.folders {
      let count = below[folder, default: 1] - 1
      below[folder] = count > 0 ? count : nil
    }
  }
}
