import Glibc

let usage = """
  usage: sluice-samples DIR

  Writes sample attachments into DIR, which is created if needed; files of the same name are replaced.
  Prints one line per file: path, size in bytes, what it is for.

  example: sluice-samples ./samples
  """

/// Writes a line to standard error. A failure to write is ignored.
func complain(_ message: String) {
  var line = Array((message + "\n").utf8)[...]
  while !line.isEmpty {
    let count = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    if count < 0 && errno == EINTR { continue }
    guard count > 0 else { return }
    line.removeFirst(count)
  }
}

/// Runs `body`; an error becomes one line on standard error and exit code 1.
func exitOnError(_ body: () throws -> Void) {
  do {
    try body()
  } catch {
    complain("sluice-samples: \(error)")
    exit(1)
  }
}
