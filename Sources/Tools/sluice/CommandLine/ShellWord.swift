import Platform

/// A text quoted so that a shell reads it as one word.
enum ShellWord {
  static func of(_ text: String) -> String {
    if !text.isEmpty && text.utf8.allSatisfy(isPlain) { return text }
    if Terminal.printable(text) == text {
      return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
        + "'"
    }
    // Characters that would act on the terminal, in the notation that bash, zsh and ksh share.
    let bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(byte))
      case 0x20..<0x7F: String(UnicodeScalar(byte))
      default: "\\x" + Hexadecimal.text([byte])
      }
    }
    return "$'\(bytes.joined())'"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "_-./:@%+,".utf8.contains(byte)
    }
  }
}
