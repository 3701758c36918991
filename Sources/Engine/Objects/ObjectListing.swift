import CPlatform
import Glibc
import Platform

/// What lies at a path of a store.
public struct ListedObject: Sendable, Equatable {
  /// Bytes, which need not be UTF-8.
  public var path: [UInt8]
  public var size: Int64
  /// How long ago it was changed, in milliseconds.
  public var age: Int64
  /// Whether it can be an object: it is no link, device, socket or pipe.
  public var isFile: Bool
}

/// The objects of a store in the order of their paths' bytes, page by page.
public protocol ObjectListing: AnyObject {
  /// The next objects, at most so many; none: there are no more.
  func next(_ limit: Int) throws(SystemError) -> [ListedObject]
}

/// Lists a folder. Names that begin with `.` at its top are the store's own and are skipped.
///
/// Keeps paths and not descriptors: a deep store would exceed the limit on descriptors. What is deleted meanwhile is left out.
final class FileListing: ObjectListing {
  private struct Entry {
    var path: [UInt8]
    var isFolder: Bool

    /// `a-b` comes before what is in `a`, since `-` comes before `/`.
    var order: [UInt8] { isFolder ? path + [0x2F] : path }
  }

  private let root: Int32
  private let after: [UInt8]
  /// What is still to come, the next one last.
  private var rest: [Entry]

  /// - Parameters:
  ///   - root: the store's folder; must stay open while this object is in use.
  ///   - after: the path before the first that is wanted; empty: from the beginning.
  init(root: Int32, after: [UInt8]) {
    self.root = root
    self.after = after
    rest = [Entry(path: [], isFolder: true)]
  }

  func next(_ limit: Int) -> [ListedObject] {
    var found: [ListedObject] = []
    while found.count < limit, let entry = rest.popLast() {
      if entry.isFolder {
        rest += entries(of: entry.path)
      } else if let object = object(at: entry.path) {
        found.append(object)
      }
    }
    return found
  }

  private func object(at path: [UInt8]) -> ListedObject? {
    var facts = stat()
    guard path.withPath({ fstatat(root, $0, &facts, AT_SYMLINK_NOFOLLOW) }) == 0 else { return nil }
    let changed = Int64(facts.st_mtim.tv_sec) * 1000 + Int64(facts.st_mtim.tv_nsec) / 1_000_000
    return ListedObject(
      path: path, size: Int64(facts.st_size), age: max(Clock.now() - changed, 0),
      isFile: sluice_file_type(facts.st_mode) == S_IFREG)
  }

  /// What is directly in a folder and comes after the beginning, the last first.
  private func entries(of folder: [UInt8]) -> [Entry] {
    guard let listing = open(folder) else { return [] }
    defer { closedir(listing) }
    var entries: [(order: [UInt8], entry: Entry)] = []
    while let each = readdir(listing) {
      let name = withUnsafeBytes(of: &each.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == [0x2E] || name == [0x2E, 0x2E] || folder.isEmpty && Self.isOwn(name) { continue }
      let path = folder.isEmpty ? name : folder + [0x2F] + name
      var facts = stat()
      guard path.withPath({ fstatat(root, $0, &facts, AT_SYMLINK_NOFOLLOW) }) == 0 else { continue }
      let entry = Entry(path: path, isFolder: sluice_file_type(facts.st_mode) == S_IFDIR)
      let order = entry.order
      if after.lexicographicallyPrecedes(order) || entry.isFolder && after.starts(with: order) {
        entries.append((order, entry))
      }
    }
    return entries.sorted { $1.order.lexicographicallyPrecedes($0.order) }.map(\.entry)
  }

  private static func isOwn(_ name: [UInt8]) -> Bool {
    name.elementsEqual(FileStore.incoming.utf8) || name.elementsEqual(LostAndFound.nameInStore.utf8)
  }

  /// `nil`: it is gone, or cannot be read; what is in it is missed by those who look for it.
  private func open(_ folder: [UInt8]) -> OpaquePointer? {
    let number = (folder.isEmpty ? [0x2E] : folder).withPath {
      openat(root, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
    if number < 0 {
      return nil
    }
    if let listing = fdopendir(number) { return listing }
    close(number)
    return nil
  }
}
