/// The part of a link that says where it leads, and is no secret: scheme, host and port (RFC 3986, section 3.2).
public struct LinkPlace: Sendable, Hashable {
  /// `http` or `https`.
  public var scheme: String
  /// In lower case, an IPv6 address in brackets.
  public var host: String
  public var port: Int

  /// Reads it from a link; `nil`: the text is none with scheme http or https and a host.
  public init?(_ url: String) {
    let bytes = Array(url.utf8)
    // What no link may have (RFC 3986, section 2), and what hides where it leads.
    guard bytes.count <= 8192, bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }),
      let colon = url.firstIndex(of: ":")
    else { return nil }
    scheme = url[..<colon].lowercased()
    guard scheme == "http" || scheme == "https", url[colon...].hasPrefix("://") else { return nil }
    let rest = url[colon...].dropFirst(3)
    var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
    var name = authority
    var number: Substring?
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      name = authority[...end]
      let after = authority[authority.index(after: end)...]
      if !after.isEmpty {
        guard after.hasPrefix(":") else { return nil }
        number = after.dropFirst()
      }
    } else if let end = authority.lastIndex(of: ":") {
      name = authority[..<end]
      number = authority[authority.index(after: end)...]
    }
    guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy(Self.isAllowed) else { return nil }
    host = name.lowercased()
    port = scheme == "https" ? 443 : 80
    if let number, !number.isEmpty {
      guard number.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let value = Int(number),
        (1...65535).contains(value)
      else { return nil }
      port = value
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "["), UInt8(ascii: "]"),
      UInt8(ascii: ":"):
      true
    default: byte >= 0x80
    }
  }

  /// Without the port where that is the scheme's own.
  public var text: String {
    port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
  }
}
