import Glibc

/// IP addresses that begin with the same bits, such as `10.0.0.0/8`; or a single one.
public struct AddressRange: Sendable, Equatable {
  private let first: [UInt8]
  private let bits: Int

  /// - Parameter text: an address of IPv4 or IPv6, perhaps with `/` and the number of bits that count.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let first = Self.bytes(String(parts[0])) else { return nil }
    let length = first.count * 8
    guard parts.count == 2 else {
      (self.first, bits) = (first, length)
      return
    }
    let digits = parts[1].utf8
    guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let bits = Int(parts[1]),
      bits <= length
    else { return nil }
    (self.first, self.bits) = (first, bits)
  }

  /// Whether an address is one of them; what is none is not.
  public func contains(_ address: String) -> Bool {
    guard let bytes = Self.bytes(address), bytes.count == first.count else { return false }
    return bytes.indices.allSatisfy { index in
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(max(bits - 8 * index, 0), 8))
      return bytes[index] & mask == first[index] & mask
    }
  }

  /// Whether a text is an address of IPv4 or IPv6.
  public static func isAddress(_ text: String) -> Bool { bytes(text) != nil }

  /// 4 or 16 bytes; those of an IPv4 address that is written as one of IPv6 are 4.
  private static func bytes(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
    guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
    let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    return isMapped ? Array(bytes[12...]) : bytes
  }
}
