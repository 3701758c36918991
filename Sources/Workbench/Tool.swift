import Glibc

/// A debugger or checker that a worker can run in.
public enum Tool: String, CaseIterable, Sendable {
  case gdb, valgrind

  /// The program and its arguments, to be followed by the worker's command line; `nil`: it is not in `$PATH`.
  public func words(path: String) -> [String]? {
    guard let file = Self.find(rawValue, path) else { return nil }
    switch self {
    // The worker may run at once: the plugin the user sets breakpoints in is not loaded yet.
    case .gdb: return [file, "-q", "-ex", "set breakpoint pending on", "-ex", "set complaints 0", "--args"]
    // valgrind must watch the worker's own malloc as well as libc's.
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
