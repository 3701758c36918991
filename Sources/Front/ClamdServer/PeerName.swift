import CPlatform
import Glibc
import Platform

/// Whose a connection is, as far as the kernel tells: so that what one client has is not taken for that of several.
struct PeerName {
  /// `user 1000`, or an address; with IPv6 that of the network, which one line is given. This machine has one, though it has many.
  let text: String
  /// Over a Unix socket, which alone passes descriptors.
  let isLocal: Bool

  /// Bytes of one, at most.
  static let longest = 64

  init(_ socket: Int32, _ address: sockaddr_storage) {
    isLocal = address.ss_family == AF_UNIX
    text =
      withUnsafeBytes(of: address) { bytes in
        switch Int32(address.ss_family) {
        case AF_UNIX: Self.user(of: socket)
        case AF_INET:
          bytes.load(as: sockaddr_in.self).sin_addr.s_addr.bigEndian >> 24 == 127
            ? "loopback" : Self.text(bytes.load(as: sockaddr_in.self).sin_addr, 4)
        case AF_INET6: Self.text(bytes.load(as: sockaddr_in6.self).sin6_addr, 8)
        default: ""
        }
      }
  }

  private static func user(of socket: Int32) -> String {
    let user = sluice_peer_user(socket)
    return user < 0 ? "" : "user \(user)"
  }

  private static func text<Address>(_ address: Address, _ count: Int) -> String {
    withUnsafeBytes(of: address) { Hexadecimal.text(Array($0.prefix(count))) }
  }
}
