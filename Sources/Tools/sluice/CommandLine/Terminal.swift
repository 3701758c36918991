import CPlatform
import Glibc
import Platform
import Synchronization

/// Standard output and standard error.
enum Terminal {
  /// Something of what was to be told could not be written.
  static var isOutBroken: Bool { outBroke.load(ordering: .relaxed) }
  private static let outBroke = Atomic(false)

  /// Writes to standard output. Once that fails, nothing more is written there: what follows a gap would be taken for the
  /// whole.
  static func out(_ text: String) {
    if isOutBroken { return }
    guard let reason = write(text, to: STDOUT_FILENO) else { return }
    outBroke.store(true, ordering: .relaxed)
    error(
      "standard output: \(reason); what was to be printed is not all there: run the command again, or for an ingest `sluice list`"
    )
  }

  /// A line on standard error, named after the program. Whatever the message holds, it does not act on the terminal, is one
  /// line, and of bounded length.
  static func error(_ message: String, prefix: String = "sluice: ") {
    write("\(prefix)\(shortened(printable(message)))\n", to: STDERR_FILENO)
  }

  /// In bytes: two paths at their longest, and what is said of them.
  private static let lineLimit = 10_000

  /// The beginning and the end of a long line: the thing, and what to do about it.
  private static func shortened(_ line: String) -> String {
    if line.utf8.count <= lineLimit { return line }
    let part = lineLimit / 2
    return String(decoding: line.utf8.prefix(part), as: UTF8.self) + "…"
      + String(decoding: line.utf8.suffix(part), as: UTF8.self)
  }

  /// Returns why not all was written; `nil` also where nobody is left to read it.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32) -> String? {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        // Whoever read has gone, as `head` does: nothing more is to be said.
        if count < 0 { return errno == EPIPE ? nil : String(cString: strerror(errno)) }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
      return nil
    }
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  static func width(_ descriptor: Int32) -> Int {
    let width = Int(sluice_terminal_width(descriptor))
    return width > 0 ? width : 80
  }

  /// Text from outside, fit for a terminal.
  static func printable(_ text: String) -> String { PrintableText.of(text) }
}
