/// Reads what ``JSONWriter`` wrote for an array of arrays of texts, whole numbers and nulls.
public enum JSONRows {
  public enum Value: Sendable, Equatable {
    case null
    case text(String)
    case integer(Int64)
  }

  /// The rows; `nil` if the text is anything else.
  public static func read(_ json: String) -> [[Value]]? {
    var scanner = JSONScanner(json)
    guard let rows = array(&scanner, of: { array(&$0, of: value) }), scanner.isAtEnd else { return nil }
    return rows
  }

  private static func array<Element>(
    _ scanner: inout JSONScanner, of element: (inout JSONScanner) -> Element?
  ) -> [Element]? {
    guard scanner.skip("[") else { return nil }
    var elements: [Element] = []
    if scanner.skip("]") { return elements }
    repeat {
      guard let next = element(&scanner) else { return nil }
      elements.append(next)
    } while scanner.skip(",")
    return scanner.skip("]") ? elements : nil
  }

  private static func value(_ scanner: inout JSONScanner) -> Value? {
    if scanner.skip("\"") { return scanner.string().map { .text($0) } }
    let word = scanner.word()
    return word == "null" ? .null : Int64(word).map { .integer($0) }
  }
}
