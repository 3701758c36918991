import Glibc

/// A POSIX extended regular expression, by the C library's regcomp(3).
public enum RegularExpression {
  /// Whether it matches somewhere in the text. A pattern that does not compile matches nothing; see
  /// ``problem(in:)``.
  public static func matches(_ pattern: String, _ text: String) -> Bool {
    var compiled = regex_t()
    guard regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) == 0 else { return false }
    defer { regfree(&compiled) }
    return regexec(&compiled, text, 0, nil, 0) == 0
  }

  /// Why it does not compile; `nil`: it does.
  public static func problem(in pattern: String) -> String? {
    var compiled = regex_t()
    let code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB)
    if code == 0 {
      regfree(&compiled)
      return nil
    }
    var text = [CChar](repeating: 0, count: 200)
    regerror(code, &compiled, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
