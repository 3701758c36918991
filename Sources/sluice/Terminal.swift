import CPlatform
import Glibc

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

  /// Text from outside, fit for a terminal: control characters and those that turn the direction of writing are shown as
  /// escapes, so that no file name can move the cursor or pass for another.
  static func printable(_ text: String) -> String {
    var safe = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF:
        safe.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      default: safe.append(scalar)
      }
    }
    return String(safe)
  }
}
