import CPlatform
import Glibc
import Platform
import Synchronization

/// Standard output and standard error.
enum Terminal {
  /// Whether some output could not be written.
  static var isOutBroken: Bool { outBroke.load(ordering: .relaxed) }
  private static let outBroke = Atomic(false)

  /// Writes to standard output. After a failure, nothing more is written there: output with a gap could be
  /// taken for complete.
  static func out(_ text: String) {
    if isOutBroken { return }
    guard let reason = write(text, to: STDOUT_FILENO) else { return }
    outBroke.store(true, ordering: .relaxed)
    error(
      "standard output: \(reason); what was to be printed is not all there: run the command again, or for an ingest `sluice list`"
    )
  }

  /// Writes one line to standard error, prefixed with the program's name. The line cannot act on the
  /// terminal, and its length is bounded.
  static func error(_ message: String, prefix: String = "sluice: ") {
    write("\(prefix)\(shortened(printable(message)))\n", to: STDERR_FILENO)
  }

  /// In bytes: room for two paths of maximum length and the text around them.
  private static let lineLimit = 10_000

  /// The beginning and the end of a long line: the subject and the remedy.
  private static func shortened(_ line: String) -> String {
    if line.utf8.count <= lineLimit { return line }
    let part = lineLimit / 2
    return String(decoding: line.utf8.prefix(part), as: UTF8.self) + "…"
      + String(decoding: line.utf8.suffix(part), as: UTF8.self)
  }

  /// Returns why not everything was written; `nil` also if the reader has exited.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32) -> String? {
    var text = text
    let error = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    // The reader has exited, as `head` does: there is nothing to report.
    return error == 0 || error == EPIPE ? nil : String(cString: strerror(error))
  }

  /// Returns the errno with which writing failed; 0: everything is written.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return errno }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return 0
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  static func width(_ descriptor: Int32) -> Int {
    let width = Int(sluice_terminal_width(descriptor))
    return width > 0 ? width : 80
  }

  /// Text from outside, made safe for a terminal.
  static func printable(_ text: String) -> String { PrintableText.of(text) }
}
