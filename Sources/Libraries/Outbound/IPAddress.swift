import Glibc

/// An IP address, version 4 or 6.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 or 16 bytes, most significant first. An IPv4-mapped IPv6 address is stored as the IPv4 address.
  public let bytes: [UInt8]

  /// - Parameter bytes: 4 or 16, most significant first.
  public init(bytes: [UInt8]) {
    let isMapped = bytes.count == 16 && bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    self.bytes = isMapped ? Array(bytes[12...]) : bytes
  }

  /// Dotted or hexadecimal, as inet_pton(3) reads it.
  public init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.init(bytes: Array(bytes[..<4]))
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.init(bytes: bytes)
    } else {
      return nil
    }
  }

  /// From a socket address as passed to connect(2); `nil` for another family.
  init?(socketAddress: UnsafeRawPointer, count: Int) {
    guard count >= MemoryLayout<sockaddr_in>.size else { return nil }
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET:
      let address = socketAddress.loadUnaligned(as: sockaddr_in.self).sin_addr
      self.init(bytes: withUnsafeBytes(of: address) { Array($0) })
    case AF_INET6 where count >= MemoryLayout<sockaddr_in6>.size:
      let address = socketAddress.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      self.init(bytes: withUnsafeBytes(of: address) { Array($0) })
    default: return nil
    }
  }

  public var description: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard let start = inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) else { return "an address" }
    return String(cString: start)
  }

  /// Whether it lies in a range such as `10.0.0.0/8`.
  func lies(in range: (first: IPAddress, bits: Int)) -> Bool {
    guard bytes.count == range.first.bytes.count else { return false }
    return bytes.indices.allSatisfy { index in
      let bits = min(max(range.bits - 8 * index, 0), 8)
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
      return bytes[index] & mask == range.first.bytes[index] & mask
    }
  }
}
