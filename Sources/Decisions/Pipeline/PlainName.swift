/// What a code or a key of metadata is made of: printable ASCII without spaces, so that it does no harm wherever it is
/// shown.
public enum PlainName {
  public static func isOne(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
  }
}
