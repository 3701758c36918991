/// The encoding of a text from outside.
public enum TextEncoding {
  /// Whether the bytes are UTF-16: by the byte order mark, or because every other of the first bytes is 0,
  /// which YAML and JSON in UTF-8 never have.
  public static func isUTF16(_ bytes: ArraySlice<UInt8>) -> Bool {
    let start = Array(bytes.prefix(4))
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return true }
    guard start.count == 4 else { return false }
    let isZero = start.map { $0 == 0 }
    return isZero == [true, false, true, false] || isZero == [false, true, false, true]
  }
}
