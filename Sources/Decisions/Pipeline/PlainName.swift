/// Codes and keys of metadata consist of printable ASCII without spaces, which is safe to show anywhere.
public enum PlainName {
  public static func isOne(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in !bytes.isEmpty && bytes.allSatisfy { $0 >= 0x21 && $0 < 0x7F } }
  }
}
