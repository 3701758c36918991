import CPlatform
import Glibc
import Platform

/// Standard output and standard error.
enum Terminal {
  static func out(_ text: String) { write(text, to: STDOUT_FILENO) }

  /// A line on standard error, named after the program.
  static func error(_ message: String, prefix: String = "sluice: ") {
    write("\(prefix)\(message)\n", to: STDERR_FILENO)
  }

  static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        // Whoever read has gone, as `head` does: nothing more is to be said.
        if count < 0 { return }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
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
