import Glibc
import Testing

/// The table that `make soak` prints, for suites that are longer there.
enum SoakTable {
  /// Adds a row. Rows of the same fault are summed up.
  ///
  /// - Parameters:
  ///   - fault: in a few words.
  ///   - tries: how often it was made.
  ///   - failures: how many checks failed afterwards.
  static func row(_ fault: String, tries: Int, failures: Int) {
    guard let file = getenv("SLUICE_SOAK_TABLE") else { return }
    let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    defer { close(descriptor) }
    let line = "\(fault)\t\(tries)\t\(failures)\n"
    let written = line.withCString { write(descriptor, $0, line.utf8.count) }
    #expect(written == line.utf8.count, "\(file): \(String(cString: strerror(errno)))")
  }
}
