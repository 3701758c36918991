/// Paths of objects that are stored and not yet on record, with the flights they are for.
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

  private var flights: [Path: Set<UInt64>] = [:]
  /// How many reserved paths lie below a folder.
  private var below: [Path: Int] = [:]

  /// Whether a path, or one above or below it, is somebody else's.
  ///
  /// - Parameter isShared: whether the path may be shared with these flights.
  func conflicts(_ path: String, isShared: (Set<UInt64>) -> Bool) -> Bool {
    let path = Path(path)
    if let others = flights[path] { return !isShared(others) }
    return below[path] != nil || path.folders.contains { flights[$0] != nil }
  }

  mutating func insert(_ path: String, _ serial: UInt64) {
    let path = Path(path)
    if flights[path, default: []].insert(serial).inserted, flights[path]?.count == 1 {
      for folder in path.folders { below[folder, default: 0] += 1 }
    }
  }

  mutating func remove(_ path: String, _ serial: UInt64) {
    let path = Path(path)
    guard flights[path]?.remove(serial) != nil, flights[path]?.isEmpty == true else { return }
    flights[path] = nil
    for folder in path.folders {
      let count = below[folder, default: 1] - 1
      below[folder] = count > 0 ? count : nil
    }
  }
}
