import CCrypto
import Platform

/// AES-256-GCM (NIST SP 800-38D) by libcrypto, with nonces of 12 and tags of 16 bytes.
///
/// Unchecked because libcrypto's description of an algorithm may be shared by threads (EVP_CIPHER_fetch(3)); each call has a
/// context of its own.
package final class AESGCM: @unchecked Sendable {
  package static let keySize = 32
  private let cipher: OpaquePointer

  /// `nil`: this libcrypto does not offer it.
  package init?() {
    guard let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else { return nil }
    self.cipher = cipher
  }

  deinit {
    EVP_CIPHER_free(cipher)
  }

  /// Encrypts. `output` has the room of `plain` and a tag.
  ///
  /// - Returns: false if libcrypto failed.
  package func seal(
    _ plain: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
    associated: [UInt8], into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(
      output.count == plain.count + SealedValue.tagSize && nonce.count == SealedValue.nonceSize
        && key.count == Self.keySize)
    guard let context = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    let out = output.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
    var count: Int32 = 0
    guard EVP_EncryptInit_ex2(context, cipher, Self.start(key), Self.start(nonce), nil) == 1 else {
      return false
    }
    if !associated.isEmpty {
      guard EVP_EncryptUpdate(context, nil, &count, associated, Int32(associated.count)) == 1 else {
        return false
      }
    }
    if !plain.isEmpty {
      guard EVP_EncryptUpdate(context, out, &count, Self.start(plain), Int32(plain.count)) == 1,
        Int(count) == plain.count
      else { return false }
    }
    guard EVP_EncryptFinal_ex(context, out + plain.count, &count) == 1, count == 0 else { return false }
    return EVP_CIPHER_CTX_ctrl(
      context, EVP_CTRL_AEAD_GET_TAG, Int32(SealedValue.tagSize), out + plain.count) == 1
  }

  /// Decrypts what ends with a tag. `output` has the room of all but the tag; it holds zeros if this fails.
  ///
  /// - Returns: false if key, nonce, associated bytes or a byte of the input is another.
  package func open(
    _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
    associated: [UInt8], into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(
      sealed.count == output.count + SealedValue.tagSize && nonce.count == SealedValue.nonceSize
        && key.count == Self.keySize)
    let isOpen = decrypt(sealed, key, nonce, associated, output)
    // What was decrypted before the tag was found wrong must not get out.
    if !isOpen, let start = output.baseAddress { OPENSSL_cleanse(start, output.count) }
    return isOpen
  }

  private func decrypt(
    _ sealed: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ nonce: UnsafeRawBufferPointer,
    _ associated: [UInt8], _ output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard let context = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(context) }
    var count: Int32 = 0
    guard EVP_DecryptInit_ex2(context, cipher, Self.start(key), Self.start(nonce), nil) == 1 else {
      return false
    }
    if !associated.isEmpty {
      guard EVP_DecryptUpdate(context, nil, &count, associated, Int32(associated.count)) == 1 else {
        return false
      }
    }
    if let out = output.baseAddress, !output.isEmpty {
      guard
        EVP_DecryptUpdate(
          context, out.assumingMemoryBound(to: UInt8.self), &count, Self.start(sealed), Int32(output.count))
          == 1,
        Int(count) == output.count
      else { return false }
    }
    // EVP_CIPHER_CTX_ctrl takes what it only reads as writable.
    var tag = [UInt8](sealed.suffix(SealedValue.tagSize))
    guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
      return false
    }
    var end: UInt8 = 0
    return EVP_DecryptFinal_ex(context, &end, &count) == 1
  }

  private static func start(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
  }
}
