/// Paths of objects that are stored and have not got them yet, with the content that goes there.
///
/// Paths are told apart by their bytes, as the kernel does: to Swift, texts are equal that the file system tells apart.
struct PathReservations {
  /// An array would be hashed byte by byte.
  private struct Path: Hashable {
    var bytes: ArraySlice<UInt8>

    init(_ text: String) { bytes = ArraySlice(text.utf8) }
    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The end is enough: that is where paths differ, and no more of them are reserved at a time than attachments are in hand.
    func hash(into hasher: inout Hasher) {
      bytes.suffix(24).withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// `a/b` of `a/b/c`; `nil`: it lies in none.
    var folder: Path? {
      bytes.lastIndex(of: UInt8(ascii: "/")).map { Path(bytes[..<$0]) }
    }
  }

  private enum Place {
    /// Those that share a path have the same content.
    case object(sha256: String?, count: Int)
    /// With so many places in it.
    case folder(count: Int)
  }

  private var places: [Path: Place] = [:]

  /// Reserves a path for one more object. False: the path, or one above or below it, is another content's.
  mutating func insert(_ path: String, _ sha256: String?) -> Bool {
    let path = Path(path)
    if let index = places.index(forKey: path) {
      guard case .object(sha256, let count) = places.values[index] else { return false }
      places.values[index] = .object(sha256: sha256, count: count + 1)
      return true
    }
    // Its folders, up to the first that is there: those above that are there, too.
    var missing: [Path] = []
    var next = path.folder
    while let folder = next {
      if let index = places.index(forKey: folder) {
        guard case .folder(let count) = places.values[index] else { return false }
        places.values[index] = .folder(count: count + 1)
        break
      }
      missing.append(folder)
      next = folder.folder
    }
    for folder in missing { places[folder] = .folder(count: 1) }
    places[path] = .object(sha256: sha256, count: 1)
    return true
  }

  /// Takes back one reservation that was made.
  mutating func remove(_ path: String) {
    let path = Path(path)
    guard let index = places.index(forKey: path), case .object(let sha256, let count) = places.values[index]
    else { return }
    if count > 1 {
      places.values[index] = .object(sha256: sha256, count: count - 1)
      return
    }
    places.remove(at: index)
    var next = path.folder
    while let folder = next, let index = places.index(forKey: folder),
      case .folder(let count) = places.values[index]
    {
      if count > 1 {
        places.values[index] = .folder(count: count - 1)
        return
      }
      places.remove(at: index)
      next = folder.folder
    }
  }
}
