import Glibc
import StageKit

/// The addresses of a host, looked up once: a lookup has no deadline, and its libraries cannot be loaded once
/// the sandbox is closed.
struct TCPAddresses {
  private struct Address {
    var family: Int32
    /// The `sockaddr` of this family.
    var bytes: [UInt8]
  }

  /// The most addresses that are tried.
  private static let limit = 4

  private let name: String
  private let addresses: [Address]

  init(of host: String, port: UInt16) throws(Outcome) {
    var wanted = addrinfo()
    wanted.ai_socktype = Int32(SOCK_STREAM.rawValue)
    wanted.ai_flags = AI_NUMERICSERV
    var first: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, String(port), &wanted, &first)
    guard result == 0 else {
      throw ScannerAddress.refusal("'\(host)' has no address: \(String(cString: gai_strerror(result)))")
    }
    defer { freeaddrinfo(first) }
    var addresses: [Address] = []
    var next = first
    while let info = next?.pointee, addresses.count < Self.limit {
      if let address = info.ai_addr, info.ai_family == AF_INET || info.ai_family == AF_INET6 {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
        addresses.append(Address(family: info.ai_family, bytes: Array(bytes)))
      }
      next = info.ai_next
    }
    self.addresses = addresses
    name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  func connect(by deadline: Deadline) throws(Outcome) -> Connection {
    var reason = "'\(name)' has no address"
    for address in addresses {
      let made = socket(
        address.family,
        Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard made >= 0 else {
        reason = String(cString: strerror(errno))
        continue
      }
      let connection = Connection(owning: made)
      let error = try connection.open(to: address.bytes, by: deadline)
      if error == 0 { return connection }
      reason = String(cString: strerror(error))
    }
    throw .unavailable("connecting to \(name): \(reason)")
  }
}
