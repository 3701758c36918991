import Glibc

/// The path of a message in a Maildir (maildir(5)): `MAILDIR/new/UNIQUE`, or `MAILDIR/cur/UNIQUE:2,FLAGS`.
///
/// Programs of mail rename messages from `new` to `cur`, and with each change of their flags. What is before the first colon of
/// the name stays.
public struct MaildirPath: Sendable, Equatable {
  /// The folder that has `cur`, `new` and `tmp`; empty: the root of the file system.
  public let maildir: [UInt8]
  /// What is before the first colon of the name.
  public let unique: [UInt8]
  private let name: [UInt8]
  public let path: [UInt8]

  private static let slash = UInt8(ascii: "/")
  private static let colon = UInt8(ascii: ":")
  /// Where messages are. In `tmp` they are being written.
  public static let folders: [[UInt8]] = [Array("new".utf8), Array("cur".utf8)]
  private static let unfinished = Array("tmp".utf8)

  /// Whether this is the name of one of the three folders of a Maildir.
  public static func isOwn(_ name: [UInt8]) -> Bool { folders.contains(name) || name == unfinished }

  /// `nil`: by its form it is none. Names with a dot at their start are not of messages.
  ///
  /// - Parameter path: absolute.
  public init?(_ path: [UInt8]) {
    guard let end = path.lastIndex(of: Self.slash),
      let start = path[..<end].lastIndex(of: Self.slash),
      Self.folders.contains(Array(path[(start + 1)..<end]))
    else { return nil }
    name = Array(path[(end + 1)...])
    unique = Array(name.prefix { $0 != Self.colon })
    if unique.isEmpty || unique.first == UInt8(ascii: ".") { return nil }
    maildir = Array(path[..<start])
    self.path = path
  }

  /// Whether a folder is a Maildir: it has the folders `cur`, `new` and `tmp`.
  public static func isMaildir(_ folder: [UInt8]) -> Bool {
    (folders + [unfinished]).allSatisfy { type(of: folder + [slash] + $0) == S_IFDIR }
  }

  /// Whether a folder is `new` or `cur` of the same Maildir.
  public func mayLie(in folder: [UInt8]) -> Bool {
    Self.folders.contains { maildir + [Self.slash] + $0 == folder }
  }

  /// The path that the message has now. May take as long as listing the folders. `nil`: it is gone.
  public func current() -> [UInt8]? {
    guard Self.isMaildir(maildir) else { return nil }
    // The names that most messages have, which need no listing.
    for folder in Self.folders {
      for name in [name, unique, unique + Array(":2,".utf8), unique + Array(":2,S".utf8)] {
        let path = path(folder, name)
        if Self.type(of: path) == S_IFREG { return path }
      }
    }
    // A listing may miss a file that is renamed meanwhile (readdir(3)).
    for _ in 0..<2 {
      for folder in Self.folders {
        if let name = found(in: maildir + [Self.slash] + folder) { return path(folder, name) }
      }
    }
    return nil
  }

  /// Opens the message by the path that it has now.
  ///
  /// - Parameter open: opens a path; negative: see errno.
  /// - Returns: `nil`: it is gone.
  public func open(_ open: (UnsafePointer<CChar>) -> Int32) -> (descriptor: Int32, path: [UInt8])? {
    for _ in 0..<4 {
      guard let path = current() else { return nil }
      let descriptor = path.withPath(open)
      if descriptor >= 0 || errno != ENOENT { return (descriptor, path) }
    }
    return nil
  }

  private func path(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
    maildir + [Self.slash] + folder + [Self.slash] + name
  }

  /// The name of the message in a folder.
  private func found(in folder: [UInt8]) -> [UInt8]? {
    guard let listing = folder.withPath({ opendir($0) }) else { return nil }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes -> [UInt8]? in
        let name = bytes.prefix { $0 != 0 }
        let rest = name.dropFirst(unique.count)
        return name.starts(with: unique) && (rest.isEmpty || rest.first == Self.colon) ? Array(name) : nil
      }
      if let name, Self.type(of: folder + [Self.slash] + name) == S_IFREG { return name }
    }
    return nil
  }

  /// `nil`: it is not there.
  private static func type(of path: [UInt8]) -> mode_t? {
    var facts = stat()
    return path.withPath { lstat($0, &facts) } == 0 ? facts.st_mode & S_IFMT : nil
  }
}
