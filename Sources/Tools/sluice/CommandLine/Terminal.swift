import CPlatform
import Glibc
import Platform
import Synchronization

/// Standard output and standard error.
enum Terminal {
  /// Whether some output could not be written.
  static var isOutBroken: Bool { outBroke.load(ordering: .relaxed) || log.withLock { $0?.isHeldUp ?? false } }
  private static let outBroke = Atomic(false)

  /// The output of a resident; `nil`: the output of a command that ends.
  private static let log = Mutex<HeldOutput?>(nil)

  /// Standard output is a log from now on. A failure delays its lines, and no later line is given up for it.
  static func beginLog() { log.withLock { $0 = $0 ?? HeldOutput() } }

  /// Writes to standard output. After a failure, a command that ends writes nothing more there: output with a gap
  /// could be taken for complete. A log goes on.
  static func out(_ text: String) {
    let change = log.withLock { log in
      log?.write(text) { Descriptor.writeAll($0, to: STDOUT_FILENO) }
    }
    if let change {
      if let message = change.message { error(message) }
      return
    }
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
    let error = text.withUTF8 { Descriptor.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }.error
    // The reader has exited, as `head` does: there is nothing to report.
    return error == 0 || error == EPIPE ? nil : String(cString: strerror(error))
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  static func width(_ descriptor: Int32) -> Int {
    let width = Int(sluice_terminal_width(descriptor))
    return width > 0 ? width : 80
  }

  /// Text from outside, made safe for a terminal.
  static func printable(_ text: String) -> String { PrintableText.of(text) }
}
