import CCurl  // with the types of sockets
import Glibc

/// Whether this machine has a way to an address, as its routing tables say. No packet is sent: a datagram socket that is connected
/// only looks up the route (connect(2), udp(7)).
public enum NetworkRoute {
  /// Whether there is no way to any of these addresses.
  public static func isMissing(to addresses: some Collection<IPAddress>) -> Bool {
    !addresses.isEmpty && addresses.allSatisfy { !exists(to: $0) }
  }

  /// Whether there is no way to any name server, or none beyond this machine where names are resolved on it.
  public static var isMissingToNameServers: Bool {
    let servers = nameServers(in: configuration())
    return isMissing(to: servers.contains(where: isLocal) || servers.isEmpty ? documentation : servers)
  }

  /// Addresses of no host (RFC 5737, RFC 3849): the way to them is the default route.
  private static let documentation = ["192.0.2.1", "2001:db8::1"].compactMap { IPAddress($0) }

  /// The addresses of the lines `nameserver` of a resolv.conf(5).
  static func nameServers(in text: String) -> [IPAddress] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split { $0 == " " || $0 == "\t" }
      guard words.count >= 2, words[0] == "nameserver" else { return nil }
      // A link-local address has a zone after it.
      return IPAddress(String(words[1].prefix { $0 != "%" }))
    }
  }

  private static func isLocal(_ address: IPAddress) -> Bool {
    address.bytes.count == 4 ? address.bytes[0] == 127 : address == IPAddress("::1")
  }

  private static func configuration() -> String {
    let descriptor = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return "" }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      let count = read(descriptor, room.baseAddress, room.count)
      return String(decoding: room.prefix(max(count, 0)), as: UTF8.self)
    }
  }

  private static func exists(to address: IPAddress) -> Bool {
    look(up: address) { descriptor in
      // A kernel without this family has no way either.
      if descriptor < 0 { return errno != EAFNOSUPPORT }
      return connect(descriptor, to: address)
        || ![ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL].contains(errno)
    }
  }

  /// Whether this machine has the address itself, on any of its interfaces: it would then send from that same address.
  static func isOwn(_ address: IPAddress) -> Bool {
    look(up: address) { descriptor in
      guard descriptor >= 0, connect(descriptor, to: address) else { return false }
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      return withUnsafeMutableBytes(of: &storage) { bytes in
        guard let start = bytes.baseAddress,
          getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
        else { return false }
        return IPAddress(socketAddress: start, count: Int(length)) == address
      }
    }
  }

  /// - Parameter body: gets a datagram socket of the address's family, or -1.
  private static func look(up address: IPAddress, _ body: (Int32) -> Bool) -> Bool {
    let family = address.bytes.count == 4 ? AF_INET : AF_INET6
    let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { if descriptor >= 0 { close(descriptor) } }
    return body(descriptor)
  }

  private static func connect(_ descriptor: Int32, to address: IPAddress) -> Bool {
    if address.bytes.count == 4 {
      var target = sockaddr_in()
      (target.sin_family, target.sin_port) = (sa_family_t(AF_INET), UInt16(53).bigEndian)
      withUnsafeMutableBytes(of: &target.sin_addr) { $0.copyBytes(from: address.bytes) }
      return Outbound.connect(descriptor, &target, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
    var target = sockaddr_in6()
    (target.sin6_family, target.sin6_port) = (sa_family_t(AF_INET6), UInt16(53).bigEndian)
    withUnsafeMutableBytes(of: &target.sin6_addr) { $0.copyBytes(from: address.bytes) }
    return Outbound.connect(descriptor, &target, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
  }
}

private func connect<Address>(_ descriptor: Int32, _ address: inout Address, _ length: socklen_t) -> Int32 {
  withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) }
  }
}
