import Glibc

/// A program to run a worker in, to look into a stage.
public enum Tool: String, CaseIterable, Sendable {
  case gdb, valgrind

  /// The program with its words, to be followed by the worker's; `nil`: it is not in `$PATH`.
  public func words(path: String) -> [String]? {
    guard let file = Self.find(rawValue, path) else { return nil }
    switch self {
    // The worker may run at once; what the user wants to stop at is not loaded yet.
    case .gdb: return [file, "-q", "-ex", "set breakpoint pending on", "-ex", "set complaints 0", "--args"]
    // The worker's own malloc is one more to watch, beside libc's.
    case .valgrind:
      return [
        file, "--soname-synonyms=somalloc=NONE", "--leak-check=full", "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
      ]
    }
  }

  private static func find(_ name: String, _ path: String) -> String? {
    path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }
}
