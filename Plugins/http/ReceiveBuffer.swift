import CCurl
import Glibc

/// What the kernel keeps of a connection that nothing is read from.
///
/// Left alone, Linux makes that room larger as it fills up, and once more when all of it is read at once: up to some megabytes
/// (`net.ipv4.tcp_rmem`), and it asks the server for as much. On a slow line, the transfers that stand still would take it from the
/// one that they stand still for.
enum ReceiveBuffer {
  /// SO_BUF_LOCK with SOCK_RCVBUF_LOCK (Linux 5.14), which not all headers have.
  private static let (option, lock): (Int32, Int32) = (72, 2)

  /// Keeps it as large as it is, or lets it grow again. Where the kernel does not know of that, it grows as ever.
  static func keep(_ isKept: Bool, of handle: UnsafeMutableRawPointer) {
    if let socket = socket(of: handle) { keep(isKept, of: socket) }
  }

  static func keep(_ isKept: Bool, of socket: Int32) {
    var value = isKept ? lock : 0
    setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The connection of a request under way. libcurl 7.88 names it only once the request has ended, so that it is found by its ports.
  private static func socket(of handle: UnsafeMutableRawPointer) -> Int32? {
    var (local, remote) = (0, 0)
    guard sluice_curl_get_number(handle, CURLINFO_LOCAL_PORT, &local) == CURLE_OK,
      sluice_curl_get_number(handle, CURLINFO_PRIMARY_PORT, &remote) == CURLE_OK, local > 0, remote > 0
    else { return nil }
    return (Int32(3)..<1024).first { port($0, getsockname) == local && port($0, getpeername) == remote }
  }

  private typealias Address = (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) ->
    Int32

  private static func port(_ socket: Int32, _ address: Address) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      guard let start = bytes.baseAddress,
        address(socket, start.assumingMemoryBound(to: sockaddr.self), &length) == 0,
        [AF_INET, AF_INET6].contains(Int32(bytes.loadUnaligned(as: sa_family_t.self)))
      else { return nil }
      // Both kinds have it in the same place.
      return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }
}
