import CPlatform
import Glibc
import Platform

/// Everything in a store except folders, by path. Names that begin with `.` at the top are the store's own
/// and are skipped.
struct StoreWalk {
  /// - Parameter root: the store's folder.
  let root: Int32

  /// Passes each path's bytes to the body, and whether it is a regular file. Keeps paths and not descriptors:
  /// a deep store would exceed the limit on descriptors.
  func files(_ body: (_ path: [UInt8], _ isFile: Bool) throws -> Void) throws {
    var folders: [[UInt8]] = [[]]
    while let folder = folders.popLast() {
      guard let listing = open(folder) else { continue }  // deleted meanwhile, or reported as what it is
      defer { closedir(listing) }
      while let entry = readdir(listing) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
        if name == [0x2E] || name == [0x2E, 0x2E] { continue }
        if folder.isEmpty && (name.elementsEqual(".incoming".utf8) || name.elementsEqual(".lost+found".utf8))
        {
          continue
        }
        let path = folder.isEmpty ? name : folder + [0x2F] + name
        var facts = stat()
        let found = path.withPath { fstatat(root, $0, &facts, AT_SYMLINK_NOFOLLOW) }
        if found != 0 { continue }  // moved meanwhile
        switch sluice_file_type(facts.st_mode) {
        case S_IFDIR: folders.append(path)
        case S_IFREG: try body(path, true)
        default: try body(path, false)
        }
      }
    }
  }

  private func open(_ folder: [UInt8]) -> OpaquePointer? {
    let number = (folder.isEmpty ? [0x2E] : folder).withPath {
      openat(root, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
    if number < 0 { return nil }
    if let listing = fdopendir(number) { return listing }
    close(number)
    return nil
  }
}
