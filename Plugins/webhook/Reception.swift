import CCurl
import Glibc

/// libcurl's callbacks during a request: may it connect to this address, may it go on reading.
///
/// Keeps nothing of an answer; libcurl keeps the status.
final class Reception {
  /// The most that is read of the headers and of the body, in bytes.
  private static let limit = 64 << 10

  private let policy: AddressPolicy
  private var headerBytes = 0
  private var bodyBytes = 0
  private var hasConnected = false
  private var refused: IPAddress?

  init(_ policy: AddressPolicy) {
    self.policy = policy
  }

  func startAfresh() {
    headerBytes = 0
    bodyBytes = 0
    hasConnected = false
    refused = nil
  }

  var hasLongHeaders: Bool { headerBytes > Self.limit }
  var hasLongBody: Bool { bodyBytes > Self.limit }
  /// The refused address, if there was no allowed one.
  var refusedAddress: IPAddress? { hasConnected ? nil : refused }

  /// Sets the callbacks, with this object as context; it must live as long as the handle.
  func install(on handle: UnsafeMutableRawPointer) -> [CURLcode] {
    let me = Unmanaged.passUnretained(self).toOpaque()
    return [
      sluice_curl_set_pointer(handle, CURLOPT_HEADERDATA, me),
      sluice_curl_on_receive(handle, CURLOPT_HEADERFUNCTION, receiveHeader),
      sluice_curl_set_pointer(handle, CURLOPT_WRITEDATA, me),
      sluice_curl_on_receive(handle, CURLOPT_WRITEFUNCTION, receiveBody),
      sluice_curl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, me),
      sluice_curl_on_socket(handle, openSocket),
    ]
  }

  fileprivate func mayReadHeader(_ count: Int) -> Bool {
    headerBytes += count
    return !hasLongHeaders
  }

  fileprivate func mayReadBody(_ count: Int) -> Bool {
    bodyBytes += count
    return !hasLongBody
  }

  fileprivate func mayConnect(to address: IPAddress) -> Bool {
    let allowed = policy.allows(address)
    if allowed { hasConnected = true } else { refused = address }
    return allowed
  }

  fileprivate static func from(_ pointer: UnsafeMutableRawPointer?) -> Reception? {
    pointer.map { Unmanaged<Reception>.fromOpaque($0).takeUnretainedValue() }
  }
}

// Top-level functions, because isolation is not checked through C function pointers. libcurl calls them on
// the thread that drives the requests. Returning a smaller count than was passed ends the request.

private func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ reception: UnsafeMutableRawPointer?
) -> Int {
  Reception.from(reception)?.mayReadHeader(size * count) == true ? size * count : 0
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ reception: UnsafeMutableRawPointer?
) -> Int {
  Reception.from(reception)?.mayReadBody(size * count) == true ? size * count : 0
}

/// Creates the socket if the address is allowed. libcurl connects to the same bytes that are checked here.
private func openSocket(
  _ reception: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ target: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  // The struct holds as much of the address as fits into a `sockaddr`; the rest follows in memory.
  guard let reception = Reception.from(reception), let target, let start = target.pointer(to: \.addr),
    let address = IPAddress(socketAddress: start, count: Int(target.pointee.addrlen)),
    reception.mayConnect(to: address)
  else { return CURL_SOCKET_BAD }
  let type = target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
  return socket(target.pointee.family, type, target.pointee.protocol)
}
