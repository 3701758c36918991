import Glibc

/// Tells files apart.
public enum FileIdentity {
  /// From its predecessors at the same path, without reading it: path, size, inode number and modification time as text; the path alone if there is no such file.
  public static func text(of path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return path }
    return "\(path) \(facts.st_size) \(facts.st_ino) \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec)"
  }

  /// The SHA-256 of what it holds, in hexadecimal digits: the same on every machine. The path if it cannot be read.
  public static func hash(of path: String) -> String {
    guard let file = try? Descriptor.open(path, O_RDONLY), let hash = try? SHA256() else { return path }
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    hash.begin()
    while true {
      let count = read(file.number, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return path }
      if count == 0 { return Hexadecimal.text(hash.finish()) }
      piece.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }
}
