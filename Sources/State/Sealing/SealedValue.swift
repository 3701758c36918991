import Platform

/// The name of a key within a home. It is made from the key and the home's id by HMAC, and tells nothing of either.
public struct KeyID: Sendable, Hashable, CustomStringConvertible {
  static let size = 4
  let bytes: [UInt8]

  /// - Parameter bytes: four.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Eight hexadecimal digits.
  public var description: String { Hexadecimal.text(bytes) }
}

/// The layout of a sealed value: version, id of the key, nonce, ciphertext, tag.
enum SealedValue {
  static let version: UInt8 = 1
  static let nonceSize = 12
  static let tagSize = 16
  static let headSize = 1 + KeyID.size + nonceSize
  /// What sealing adds to a value, in bytes.
  static let overhead = headSize + tagSize

  /// The id of the key that a value was sealed with; `nil`: it is no sealed value.
  static func keyID(of value: [UInt8]) -> KeyID? {
    guard value.count >= overhead, value[0] == version else { return nil }
    return KeyID(Array(value[1..<1 + KeyID.size]))
  }
}
