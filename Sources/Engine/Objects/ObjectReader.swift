import CPlatform
import Glibc
import Platform

/// Opens files in a store and describes them. It never leaves the store and never follows a symbolic link.
final class ObjectReader {
  /// What lies at a path.
  enum Found: Equatable {
    case nothing
    /// A folder, a symbolic link, a device: anything but a regular file.
    case strange(String)
    case unreadable(String)
    case file(size: Int64, sha256: [UInt8])
  }

  private let store: FileStore
  private let hash: ObjectHash
  /// Objects with several names, by inode: equal content is stored once, and is read once.
  private var linked: [ino_t: (changed: Int64, size: Int64, sha256: [UInt8])] = [:]

  init(_ store: FileStore) throws(SystemError) {
    self.store = store
    hash = try ObjectHash()
  }

  /// - Parameter expected: the content is read only if it has this size; `nil`: it is read with any size.
  /// - Parameter reads: false leaves the content unread, and the digest empty.
  func look(_ path: String, expected: Int64? = nil, reads: Bool = true) -> Found {
    do throws(SystemError) {
      guard let file = try store.open(path) else { return .nothing }
      return look(file.number, expected, reads)
    } catch {
      switch error.code {
      case ELOOP, EXDEV, ENXIO: return .strange("it is a symbolic link or a socket, or lies behind a link")
      default: return .unreadable(error.reason)
      }
    }
  }

  /// The digest of a file outside the store; `nil`: it cannot be read, or is not a regular file.
  func digest(ofSource path: [UInt8]) -> [UInt8]? {
    let message = MboxPath(path)
    let number = (message?.file ?? path).withPath { sluice_open_source($0) }
    if number < 0 { return nil }
    let file = Descriptor(owning: number)
    if let message { return message.isThere(in: file.number) ? message.sha256 : nil }
    if case .file(_, let sha256) = look(file.number, nil, true) { return sha256 }
    return nil
  }

  private func look(_ file: Int32, _ expected: Int64?, _ reads: Bool) -> Found {
    var facts = stat()
    if fstat(file, &facts) != 0 { return .unreadable(String(cString: strerror(errno))) }
    guard sluice_file_type(facts.st_mode) == S_IFREG else {
      return .strange(
        sluice_file_type(facts.st_mode) == S_IFDIR ? "it is a folder" : "it is a device or a pipe")
    }
    let size = Int64(facts.st_size)
    if !reads || expected.map({ $0 != size }) ?? false { return .file(size: size, sha256: []) }
    let changed = Int64(facts.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(facts.st_ctim.tv_nsec)
    if let known = linked[facts.st_ino], facts.st_nlink > 1, known.changed == changed, known.size == size {
      return .file(size: size, sha256: known.sha256)
    }
    do throws(SystemError) {
      let sha256 = try hash.digest(of: file, size: size)
      if facts.st_nlink > 1 {
        if linked.count >= 1 << 14 { linked.removeAll(keepingCapacity: true) }
        linked[facts.st_ino] = (changed, size, sha256)
      }
      return .file(size: size, sha256: sha256)
    } catch {
      return .unreadable(error.reason)
    }
  }
}
