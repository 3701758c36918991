import Glibc

/// Distinguishes a file from its predecessors at the same path, without reading it.
public enum FileIdentity {
  /// Path, size, inode number and modification time as text; the path alone if there is no such file.
  public static func text(of path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return path }
    return "\(path) \(facts.st_size) \(facts.st_ino) \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec)"
  }
}
