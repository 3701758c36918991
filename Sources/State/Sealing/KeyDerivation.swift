import CCrypto

/// HMAC-SHA-256, and HKDF on it (RFC 5869).
package enum KeyDerivation {
  package static let digestSize = 32

  /// HMAC-SHA-256 of several parts, one after the other. `nil`: libcrypto failed.
  ///
  /// - Parameter key: may be empty.
  package static func mac(
    _ key: UnsafeRawBufferPointer, _ message: UnsafeRawBufferPointer, _ digest: UnsafeMutableRawBufferPointer
  ) -> Bool {
    var length: UInt32 = 0
    // HMAC takes an empty key for "the one before" where its pointer is null.
    let none: [UInt8] = [0]
    return none.withUnsafeBytes { none in
      HMAC(
        EVP_sha256(), key.baseAddress ?? none.baseAddress, Int32(key.count),
        message.baseAddress?.assumingMemoryBound(to: UInt8.self)
          ?? none.baseAddress?.assumingMemoryBound(to: UInt8.self),
        message.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self), &length) != nil
        && Int(length) == digestSize
    }
  }

  /// HKDF-Extract: a key of 32 bytes from one that need not be uniform.
  package static func extract(
    salt: [UInt8], _ material: UnsafeRawBufferPointer, into key: UnsafeMutableRawBufferPointer
  ) -> Bool {
    salt.withUnsafeBytes { mac($0, material, key) }
  }

  /// HKDF-Expand.
  ///
  /// - Parameter output: at most 255 × 32 bytes.
  package static func expand(
    _ key: UnsafeRawBufferPointer, info: [UInt8], into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(output.count <= 255 * digestSize)
    var block = [UInt8](repeating: 0, count: digestSize)
    defer { block.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    var before: [UInt8] = []
    defer { before.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    var done = 0
    var number: UInt8 = 1
    while done < output.count {
      let message = before + info + [number]
      let isMade = block.withUnsafeMutableBytes { block in message.withUnsafeBytes { mac(key, $0, block) } }
      guard isMade else { return false }
      let count = min(digestSize, output.count - done)
      UnsafeMutableRawBufferPointer(rebasing: output[done..<done + count])
        .copyBytes(from: block.prefix(count))
      before = block
      done += count
      number &+= 1
    }
    return true
  }
}
