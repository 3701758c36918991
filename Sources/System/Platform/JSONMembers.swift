/// Reads what ``JSONWriter`` wrote for an object without others in it.
public enum JSONMembers {
  public enum Value: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
  }

  /// The members in their order; `nil` if the text is anything else, or a value is null.
  public static func read(_ json: String) -> [(key: String, value: Value)]? {
    var scanner = JSONScanner(json)
    guard scanner.skip("{") else { return nil }
    var members: [(key: String, value: Value)] = []
    if scanner.skip("}") { return scanner.isAtEnd ? members : nil }
    repeat {
      guard scanner.skip("\""), let key = scanner.string(), scanner.skip(":"), let value = value(&scanner)
      else {
        return nil
      }
      members.append((key, value))
    } while scanner.skip(",")
    return scanner.skip("}") && scanner.isAtEnd ? members : nil
  }

  private static func value(_ scanner: inout JSONScanner) -> Value? {
    if scanner.skip("\"") { return scanner.string().map { .text($0) } }
    let word = scanner.word()
    switch word {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default:
      if let integer = Int64(word) { return .integer(integer) }
      guard word.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }), let number = Double(word) else {
        return nil
      }
      return .number(number)
    }
  }
}
