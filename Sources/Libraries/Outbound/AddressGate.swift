import CCurl
import Glibc

/// Makes the sockets of one libcurl handle, to allowed addresses only.
public final class AddressGate {
  private let policy: AddressPolicy
  private var host = ""
  /// Those that a connection was tried to.
  public private(set) var allowedAddresses: [IPAddress] = []
  private var refused: IPAddress?

  public init(_ policy: AddressPolicy) {
    self.policy = policy
  }

  /// Forgets what was refused; the next connections are for this host, in its normal spelling.
  public func startAfresh(for host: String) {
    self.host = host
    allowedAddresses = []
    refused = nil
  }

  /// The sentence for the refused address, if there was no allowed one.
  public var refusal: String? { allowedAddresses.isEmpty ? refused.map { policy.refusal(of: $0) } : nil }

  /// Sets the callback, with this object as context; it must live as long as the handle.
  public func install(on handle: UnsafeMutableRawPointer) -> [CURLcode] {
    [
      sluice_curl_set_pointer(
        handle, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque()),
      sluice_curl_on_socket(handle, openSocket),
    ]
  }

  fileprivate func mayConnect(to address: IPAddress) -> Bool {
    let allowed = policy.allows(address, for: host)
    if allowed { allowedAddresses.append(address) } else { refused = address }
    return allowed
  }
}

/// Creates the socket if the address is allowed. libcurl connects to the same bytes that are checked here.
///
/// A top-level function, because isolation is not checked through C function pointers. libcurl calls it on the thread that
/// drives the requests.
private func openSocket(
  _ gate: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ target: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  // The struct holds as much of the address as fits into a `sockaddr`; the rest follows in memory.
  guard let gate, let target, let start = target.pointer(to: \.addr),
    let address = IPAddress(socketAddress: start, count: Int(target.pointee.addrlen)),
    Unmanaged<AddressGate>.fromOpaque(gate).takeUnretainedValue().mayConnect(to: address)
  else { return CURL_SOCKET_BAD }
  let type = target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
  return socket(target.pointee.family, type, target.pointee.protocol)
}
