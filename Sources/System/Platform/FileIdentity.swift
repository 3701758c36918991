import Glibc

/// Tells a file from what stood at its path before, without reading it.
public enum FileIdentity {
  /// Path, size, number and time of change of the content as text; the path alone where there is no such file.
  public static func text(of path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return path }
    return "\(path) \(facts.st_size) \(facts.st_ino) \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec)"
  }
}
