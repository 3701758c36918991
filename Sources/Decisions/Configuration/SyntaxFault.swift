import CYAML

/// Syntax errors of libyaml, in words that help the user to fix them.
enum SyntaxFault {
  /// The error at which the parser stopped.
  static func unreadable(_ parser: yaml_parser_t, _ bytes: UnsafeBufferPointer<UInt8>) -> Unreadable {
    let problem = parser.problem.map { String(cString: $0) } ?? "it ends too early"
    switch parser.error {
    case YAML_MEMORY_ERROR:
      return Unreadable(mark: .start, fault: Fault("there is not enough memory to read it"))
    case YAML_READER_ERROR:
      let mark = place(of: parser.problem_offset, in: bytes)
      if problem == "control characters are not allowed" {
        let code = String(parser.problem_value, radix: 16, uppercase: true)
        return Unreadable(
          mark: mark,
          fault: Fault("not valid YAML: the control character U+\(padded(code)) stands here", "remove it"))
      }
      return Unreadable(mark: mark, fault: Fault("not valid UTF-8: \(problem)", "save the file as UTF-8"))
    default:
      let mark = Mark(parser.problem_mark, before: end(of: bytes))
      let context = parser.context.map { String(cString: $0) }
      var message = "not valid YAML: \(problem)"
      if let context {
        let began = Mark(parser.context_mark, before: end(of: bytes))
        message +=
          " \(context)" + (began == mark ? "" : " that begins at line \(began.line), column \(began.column)")
      }
      let character = character(at: parser.problem_mark.index, in: bytes)
      return Unreadable(mark: mark, fault: Fault(message, remedy(problem, context ?? "", character)))
    }
  }

  /// The usual mistakes behind libyaml's messages.
  private static func remedy(_ problem: String, _ context: String, _ character: UInt8?) -> String {
    switch character {
    case UInt8(ascii: "\t"): return "indent with spaces, not tabs"
    case UInt8(ascii: "@"), UInt8(ascii: "`"), UInt8(ascii: "%"):
      return "put a value that begins with this character in quotes"
    default: break
    }
    if context.contains("alias") { return "put a pattern that begins with '*' in quotes: \"*/*\"" }
    if context.contains("anchor") { return "put a value that begins with '&' in quotes" }
    if context.contains("quoted scalar") {
      return "close the quotes, and write '\\\\' for a backslash in double ones"
    }
    if context.contains("flow") {
      return "close each bracket, and put a value with '{', '[' or ',' in quotes"
    }
    if problem.contains("mapping values") {
      return "put a value with ': ' in quotes, or check the indentation and the line before"
    }
    return "check the indentation, and a ':' after each key"
  }

  static func end(of bytes: UnsafeBufferPointer<UInt8>) -> Mark { place(of: bytes.count, in: bytes) }

  /// The place of a byte, because libyaml reports encoding errors without a line. Lines end as they do for
  /// libyaml: at LF, CR, NEL, LS and PS (YAML 1.1, section 4.2).
  private static func place(of offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Mark {
    var mark = Mark.start
    for (index, byte) in bytes.prefix(max(offset, 0)).enumerated() {
      switch byte {
      case UInt8(ascii: "\n"): mark = Mark(line: mark.line + 1, column: 1)
      case UInt8(ascii: "\r"):
        let pair = index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "\n")
        if !pair { mark = Mark(line: mark.line + 1, column: 1) }
      case 0x85 where index > 0 && bytes[index - 1] == 0xC2: mark = Mark(line: mark.line + 1, column: 1)
      case 0xA8...0xA9 where index > 1 && bytes[index - 1] == 0x80 && bytes[index - 2] == 0xE2:
        mark = Mark(line: mark.line + 1, column: 1)
      // Continuation bytes 80 to BF: the character has been counted already.
      case 0x80...0xBF: break
      default: mark.column += 1
      }
    }
    return mark
  }

  /// The offset of a character's first byte; libyaml's index counts characters.
  private static func character(at index: Int, in bytes: UnsafeBufferPointer<UInt8>) -> UInt8? {
    var seen = 0
    for byte in bytes where byte & 0xC0 != 0x80 {
      if seen == index { return byte }
      seen += 1
    }
    return nil
  }

  private static func padded(_ digits: String) -> String {
    String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
