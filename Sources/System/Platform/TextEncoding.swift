/// In what a text from outside is written.
public enum TextEncoding {
  /// Whether it is in UTF-16: by its byte order mark, or because every other of its first bytes is 0, as in no text of YAML
  /// or JSON in UTF-8.
  public static func isUTF16(_ bytes: ArraySlice<UInt8>) -> Bool {
    let start = Array(bytes.prefix(4))
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return true }
    guard start.count == 4 else { return false }
    let isZero = start.map { $0 == 0 }
    return isZero == [true, false, true, false] || isZero == [false, true, false, true]
  }
}
