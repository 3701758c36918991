import Foundation
import Glibc

/// The store's folder as it is on disk.
struct Store {
  struct Object {
    var size: Int64
    var sha256: String
  }

  /// Regular files by path below the store, and everything that is neither file nor folder.
  private(set) var objects: [String: Object] = [:]
  private(set) var strange: [String] = []
  /// Staged objects that wait for their path, by attachment, or by attachment and `~NAME` for one beside that: their names begin
  /// with the lease's token.
  private(set) var incoming: [String: Object] = [:]

  static let incomingFolder = ".incoming"

  init(_ folder: String) throws {
    // A file with several names is read once.
    var read: [ino_t: Object] = [:]
    var folders = [""]
    while let below = folders.popLast() {
      guard let listing = opendir(below.isEmpty ? folder : folder + "/" + below) else {
        if below.isEmpty && errno == ENOENT { return }
        throw Trouble(folder + "/" + below, errno)
      }
      defer { closedir(listing) }
      while let entry = readdir(listing) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name == "." || name == ".." { continue }
        let path = below.isEmpty ? name : below + "/" + name
        var facts = stat()
        guard lstat(folder + "/" + path, &facts) == 0 else { throw Trouble(folder + "/" + path, errno) }
        switch facts.st_mode & S_IFMT {
        case S_IFDIR: folders.append(path)
        case S_IFREG:
          let object = try read[facts.st_ino] ?? Self.look(folder + "/" + path)
          read[facts.st_ino] = object
          if below == Self.incomingFolder {
            incoming[String(name.split(separator: ".", maxSplits: 2).last ?? "")] = object
          } else {
            objects[path] = object
          }
        default: strange.append(path)
        }
      }
    }
  }

  static func look(_ path: String) throws -> Object {
    let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    return Object(size: Int64(data.count), sha256: Digest.sha256(data))
  }
}
