import Glibc
import Testing

/// The long versions of tests: `make soak` runs every suite with `Soak` in its name, and prints a table of
/// their rows.
enum Soak {
  static let isOn = getenv("SLUICE_SOAK") != nil
  static let skipped: Comment = "runs in make soak"

  /// Adds a row to the table. Rows of the same fault are summed up, so a test may write one whenever it has
  /// figures.
  ///
  /// - Parameters:
  ///   - fault: the fault, in a few words: `kill -9 at a step`.
  ///   - tries: how often it was made.
  ///   - failures: how many checks failed afterwards.
  static func row(_ fault: String, tries: Int, failures: Int) {
    guard let file = getenv("SLUICE_SOAK_TABLE") else { return }
    let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    defer { close(descriptor) }
    // One write, because suites run concurrently.
    let line = "\(fault)\t\(tries)\t\(failures)\n"
    let written = line.withCString { write(descriptor, $0, line.utf8.count) }
    #expect(written == line.utf8.count, "\(file): \(String(cString: strerror(errno)))")
  }
}
