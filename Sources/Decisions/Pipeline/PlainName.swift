/// Codes and keys of metadata consist of printable ASCII without spaces, which is safe to show anywhere.
public enum PlainName {
  public static func isOne(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
  }
}
