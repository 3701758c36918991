import FrontWire
import Platform

/// Where a request comes from, beyond the proxies that are trusted.
enum ClientAddress {
  /// The last address of `X-Forwarded-For` that no trusted proxy has; or where the connection comes from.
  ///
  /// Each proxy adds the address that it heard the request from, at the end. What stands before the first that is not trusted was
  /// written by the client itself, and may be anything. A Unix socket is one of this machine's own proxies.
  ///
  /// - Parameter trusted: addresses of proxies.
  static func of(_ request: FrontRequest, trusting trusted: [AddressRange]) -> String {
    var address = request.peer
    let list = request.values("x-forwarded-for").flatMap { $0.split(separator: ",") }
    for entry in list.reversed() where address.isEmpty || trusted.contains(where: { $0.contains(address) }) {
      guard let given = Self.address(entry) else { break }
      address = given
    }
    return address
  }

  /// Without what some proxies write around it: a port, and brackets around an address of IPv6.
  private static func address(_ entry: Substring) -> String? {
    var text = entry.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    if AddressRange.isAddress(String(text)) { return String(text) }
    if text.first == "[" {
      text = text.dropFirst().prefix { $0 != "]" }
    } else if let colon = text.lastIndex(of: ":") {
      text = text[..<colon]
    }
    return AddressRange.isAddress(String(text)) ? String(text) : nil
  }
}
