import Glibc
import LedgerPort

/// The program's own files in a home. A path that the user names for writing must be none of them.
///
/// Paths are compared after the kernel's rules, with links and `..` resolved, and files by inode, so that a
/// hard link to the ledger counts as the ledger.
public struct OwnFiles: Sendable {
  private let home: String
  private let store: String

  public init(of home: Home) {
    self.home = Self.resolved(home.path)
    store = Self.resolved(home.storePath)
  }

  /// The name of the own file that this path refers to, for messages; `nil`: none.
  ///
  /// - Parameter path: relative to the home, or absolute.
  public func name(ofPathInHome path: String) -> String? {
    name(of: path.hasPrefix("/") ? path : "\(home)/\(path)")
  }

  /// The name of the own file that this path refers to, for messages; `nil`: none.
  ///
  /// - Parameter path: relative to the current folder, or absolute.
  public func name(of path: String) -> String? {
    let path = Self.resolved(path)
    if path == home { return "home" }
    if Self.lies(path, in: store) || Self.lies(path, in: "\(home)/store") { return "store" }
    for folder in ["lost+found", "uploads", "downloads"] where Self.lies(path, in: "\(home)/\(folder)") {
      return folder
    }
    if let name = path.lastPart(in: home), Self.isOwn(name) { return "file '\(name)'" }
    return twin(of: path).map { "file '\($0)'" }
  }

  /// Whether a path lies in the home, at any depth, or in the store.
  public func holds(_ path: String) -> Bool {
    let path = Self.resolved(path)
    return Self.lies(path, in: home) || Self.lies(path, in: store)
  }

  private static func isOwn(_ name: Substring) -> Bool { name == "reserve" || name.hasPrefix("sluice.") }

  private static func lies(_ path: String, in folder: String) -> Bool {
    path == folder || path.hasPrefix(folder == "/" ? "/" : folder + "/")
  }

  /// The own file that a path is a hard link to.
  private func twin(of path: String) -> String? {
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_nlink > 1 else { return nil }
    return ["sluice.db", "sluice.db-wal", "sluice.db-shm", "sluice.lock", "sluice.key", "reserve"].first {
      name in
      var own = stat()
      return stat("\(home)/\(name)", &own) == 0 && own.st_dev == facts.st_dev && own.st_ino == facts.st_ino
    }
  }

  // MARK: Paths

  /// The most symbolic links followed in one path: the kernel's limit (path_resolution(7)).
  private static let linkLimit = 40

  /// The absolute path that a file of this name has or would get, without links, `.` and `..`. Missing parts
  /// are kept as written.
  private static func resolved(_ path: String) -> String {
    var path = path
    if !path.hasPrefix("/") {
      var room = [CChar](repeating: 0, count: Int(PATH_MAX))
      if getcwd(&room, room.count) != nil {
        path =
          String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/" + path
      }
    }
    var done: [Substring] = []
    var rest = Array(path.split(separator: "/").reversed())
    var links = 0
    while let part = rest.popLast() {
      if part == "." { continue }
      if part == ".." {
        if !done.isEmpty { done.removeLast() }
        continue
      }
      let here = "/" + (done + [part]).joined(separator: "/")
      if links < linkLimit, let target = link(here) {
        links += 1
        if target.hasPrefix("/") { done = [] }
        rest += target.split(separator: "/").reversed()
      } else {
        done.append(part)
      }
    }
    return "/" + done.joined(separator: "/")
  }

  private static func link(_ path: String) -> String? {
    var room = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &room, room.count)
    return count > 0 ? String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }
}

extension String {
  /// The last part of the path, if the path lies directly in `folder`; else `nil`.
  fileprivate func lastPart(in folder: String) -> Substring? {
    guard let slash = lastIndex(of: "/"), self[..<slash] == (folder == "/" ? "" : folder) else { return nil }
    return self[index(after: slash)...]
  }
}
