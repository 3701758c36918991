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

  let name: String
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

  var count: Int { addresses.count }

  /// Begins to connect to the address at this place. The error is 0, EINPROGRESS, or why there is no connection.
  func begin(_ place: Int) -> (connection: Connection?, error: Int32) {
    let made = socket(
      addresses[place].family,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if made < 0 { return (nil, errno) }
    let connection = Connection(owning: made)
    let error = connection.open(to: addresses[place].bytes)
    return (error == 0 || error == EINPROGRESS ? connection : nil, error)
  }
}
