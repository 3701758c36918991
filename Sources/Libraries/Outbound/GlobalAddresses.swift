/// The addresses of the public Internet.
///
/// From the IANA registries of special-purpose addresses (RFC 6890), without those marked "globally
/// reachable", and multicast. The ranges hold the addresses at which clouds tell machines their credentials:
///
/// | cloud | addresses |
/// | --- | --- |
/// | most | 169.254.169.254, fe80::a9fe:a9fe |
/// | AWS | also 169.254.170.2 and 169.254.170.23 (containers), fd00:ec2::254, fd00:ec2::23 |
/// | Google | also fd20:ce::254 |
/// | Scaleway | 169.254.42.42, fd00:42::42 |
/// | Tencent | 169.254.0.23 |
/// | Alibaba | 100.100.100.200 |
/// | Oracle | also 192.0.0.192 |
/// | Azure | also 168.63.129.16, which is otherwise a public address |
extension IPAddress {
  /// Whether it is one of the public Internet.
  public var isGlobal: Bool {
    if let embedded { return embedded.isGlobal }
    if bytes.count == 16, !lies(in: Self.globalUnicast) { return false }
    return !Self.special.contains { lies(in: $0) }
  }

  /// The IPv4 address that a gateway would translate this address to, and would reach.
  var embedded: IPAddress? {
    if lies(in: Self.translated) { return IPAddress(bytes: Array(bytes[12...])) }
    if lies(in: Self.sixToFour) { return IPAddress(bytes: Array(bytes[2..<6])) }
    return nil
  }

  /// All allocated IPv6 unicast space (RFC 4291, section 2.4; IANA). Excludes `::`, `::1`, fc00::/7,
  /// fe80::/10, ff00::/8 and the local translation prefix 64:ff9b:1::/48.
  private static let globalUnicast = range(0x20, bits: 3, of: 16)
  private static let translated = range(0, 0x64, 0xFF, 0x9B, bits: 96, of: 16)  // RFC 6052
  private static let sixToFour = range(0x20, 0x02, bits: 16, of: 16)  // RFC 3056

  private static let special = [
    range(0, bits: 8, of: 4),  // this network, RFC 791
    range(10, bits: 8, of: 4),  // private, RFC 1918
    range(100, 64, bits: 10, of: 4),  // shared by carriers, RFC 6598
    range(127, bits: 8, of: 4),  // loopback, RFC 1122
    range(168, 63, 129, 16, bits: 32, of: 4),  // the host of a virtual machine, Azure
    range(169, 254, bits: 16, of: 4),  // link-local, where clouds keep credentials, RFC 3927
    range(172, 16, bits: 12, of: 4),  // private, RFC 1918
    range(192, 0, 0, bits: 24, of: 4),  // protocol assignments, RFC 6890
    range(192, 0, 2, bits: 24, of: 4),  // documentation, RFC 5737
    range(192, 88, 99, bits: 24, of: 4),  // 6to4 relays, RFC 7526
    range(192, 168, bits: 16, of: 4),  // private, RFC 1918
    range(198, 18, bits: 15, of: 4),  // benchmarks, RFC 2544
    range(198, 51, 100, bits: 24, of: 4),  // documentation, RFC 5737
    range(203, 0, 113, bits: 24, of: 4),  // documentation, RFC 5737
    range(224, bits: 4, of: 4),  // multicast, RFC 5771
    range(240, bits: 4, of: 4),  // reserved, and broadcast, RFC 1112
    range(0x20, 0x01, 0, bits: 23, of: 16),  // protocol assignments, Teredo among them, RFC 2928
    range(0x20, 0x01, 0x0D, 0xB8, bits: 32, of: 16),  // documentation, RFC 3849
    range(0x3F, 0xFF, 0, bits: 20, of: 16),  // documentation, RFC 9637
  ]

  private static func range(_ start: UInt8..., bits: Int, of count: Int) -> (first: IPAddress, bits: Int) {
    (IPAddress(bytes: start + [UInt8](repeating: 0, count: count - start.count)), bits)
  }
}
