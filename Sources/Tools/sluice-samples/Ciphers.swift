import CCrypto

/// MD5 (RFC 1321), from OpenSSL. Throws `SampleError` where it is switched off.
func md5(_ message: [UInt8]) throws -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: 16)
  guard EVP_Digest(message, message.count, &digest, nil, EVP_md5(), nil) == 1 else {
    throw SampleError(unavailableDigest: "MD5")
  }
  return digest
}

/// RC4, which OpenSSL 3 keeps in its legacy provider. Encrypting twice decrypts.
enum RC4 {
  static func encrypt(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    // Key scheduling: shuffle the 256 bytes as the key says.
    var state: [UInt8] = Array(0...255)
    var swap = 0
    for index in 0..<256 {
      swap = (swap + Int(state[index]) + Int(key[index % key.count])) & 0xFF
      state.swapAt(index, swap)
    }
    // Keystream: keep shuffling, and take a byte each time.
    var index = 0
    swap = 0
    return message.map { byte in
      index = (index + 1) & 0xFF
      swap = (swap + Int(state[index])) & 0xFF
      state.swapAt(index, swap)
      return byte ^ state[(Int(state[index]) + Int(state[swap])) & 0xFF]
    }
  }
}
