import CCrypto
import StageKit

/// The keys that sign webhooks: several during a key change, so that the receiver may know either.
///
/// Standard Webhooks 1.0.0, "Signature scheme": secrets are `whsec_` and base64; the signed text is
/// `id.timestamp.body`; a signature is `v1,` and base64; several are separated by spaces.
struct SigningSecrets {
  private static let prefix = "whsec_"
  /// "At least 24 bytes (192 bits, 512 maximum)".
  private static let sizes = 24...64

  static let remedy = "make one with `echo whsec_$(openssl rand -base64 32)`"

  private let keys: [[UInt8]]

  /// Throws the reason why a secret is not usable, without repeating the secret.
  init(_ texts: [String]) throws(Outcome) {
    var keys: [[UInt8]] = []
    for (index, text) in texts.enumerated() {
      let name = texts.count == 1 ? "the secret" : "secret \(index + 1)"
      guard text.hasPrefix(Self.prefix) else {
        throw .fail("invalid-options", "secrets: \(name) does not begin with \(Self.prefix); \(Self.remedy)")
      }
      guard let key = Self.decode(text.dropFirst(Self.prefix.count)) else {
        throw .fail(
          "invalid-options",
          "secrets: after \(Self.prefix), \(name) is not base64 with its padding; \(Self.remedy)")
      }
      guard Self.sizes.contains(key.count) else {
        throw .fail(
          "invalid-options",
          "secrets: \(name) has \(key.count == 1 ? "1 byte" : "\(key.count) bytes"), and 24 to 64 are asked for; \(Self.remedy)"
        )
      }
      keys.append(key)
    }
    guard !keys.isEmpty else {
      throw .fail("invalid-options", "secrets: at least one is needed; \(Self.remedy)")
    }
    self.keys = keys
    // The first signature makes OpenSSL load modules, which the sandbox would prevent later.
    _ = try signatures(id: "", timestamp: 0, body: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// The value of the header `webhook-signature`.
  func signatures(id: String, timestamp: Int, body: UnsafeRawBufferPointer) throws(Outcome) -> String {
    let message = Array("\(id).\(timestamp).".utf8) + body
    var signatures: [String] = []
    for key in keys {
      var digest = [UInt8](repeating: 0, count: 32)
      var length: UInt32 = 0
      guard
        HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length) != nil,
        Int(length) == digest.count
      else { throw .fail("unsigned", "this OpenSSL offers no HMAC with SHA-256") }
      signatures.append("v1,\(Self.encode(digest))")
    }
    return signatures.joined(separator: " ")
  }

  // MARK: Base64 (RFC 4648, section 4)

  private static func encode(_ bytes: [UInt8]) -> String {
    // Four digits for three bytes, and the NUL that OpenSSL adds.
    var digits = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = EVP_EncodeBlock(&digits, bytes, Int32(bytes.count))
    return String(decoding: digits.prefix(Int(count)), as: UTF8.self)
  }

  /// OpenSSL's decoder accepts spaces and counts padding as bytes, so a text that does not encode to itself
  /// again is refused.
  private static func decode(_ text: Substring) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard !digits.isEmpty, digits.count <= 1024, digits.count % 4 == 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: digits.count / 4 * 3)
    guard EVP_DecodeBlock(&bytes, digits, Int32(digits.count)) == bytes.count else { return nil }
    bytes.removeLast(digits.suffix(2).count { $0 == UInt8(ascii: "=") })
    return encode(bytes) == text ? bytes : nil
  }
}
