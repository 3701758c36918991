/// The spelling of host names.
public enum HostName {
  /// The host in lower case and without brackets and the root's trailing dot, so that equal names compare equal.
  public static func normal(_ host: String) -> String {
    var host = Substring(host.lowercased())
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.hasSuffix(".") { host = host.dropLast() }
    return String(host)
  }

  /// Letters, digits, `-`, `_` and dots, and no number as the last part: that would be an unusual spelling of
  /// an address.
  public static func isName(_ text: String) -> Bool {
    guard let last = text.split(separator: ".").last, !last.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
  }
}
