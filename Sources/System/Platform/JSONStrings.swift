/// Reads what ``JSONWriter`` wrote for an array of texts.
public enum JSONStrings {
  /// The texts; `nil` if the text is anything else.
  public static func read(_ json: String) -> [String]? {
    var scanner = JSONScanner(json)
    guard scanner.skip("[") else { return nil }
    var texts: [String] = []
    if scanner.skip("]") { return scanner.isAtEnd ? texts : nil }
    repeat {
      guard scanner.skip("\""), let text = scanner.string() else { return nil }
      texts.append(text)
    } while scanner.skip(",")
    return scanner.skip("]") && scanner.isAtEnd ? texts : nil
  }
}
