import CCrypto
import JSONText
import Platform

/// A public key that tokens are signed for (RFC 7517), for one way of signing.
///
/// Unchecked because OpenSSL's keys may be read by several threads.
final class JSONWebKey: @unchecked Sendable {
  /// Ways of signing (RFC 7518, RFC 8037). `none` and those with a shared secret are never among them.
  enum Algorithm: String, Sendable, CaseIterable {
    /// RSA with SHA-256, PKCS #1 v1.5.
    case rs256 = "RS256"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// Ed25519.
    case edDSA = "EdDSA"
  }

  /// What tokens call it by; `nil`: it has no name.
  let id: String?
  /// The only one that it is for; what a token says does not matter (RFC 8725, 3.1).
  let algorithm: Algorithm
  /// A digest of the key itself: what is held under a token ends when its key goes, however the next one is called.
  let thumbprint: [UInt8]
  private let key: OpaquePointer

  /// Bits of the shortest RSA key that is taken (RFC 7518, 3.3).
  private static let fewestBits: Int32 = 2048

  private init?(id: String?, _ algorithm: Algorithm, _ key: OpaquePointer?) {
    guard let key else { return nil }
    (self.id, self.algorithm, self.key) = (id, algorithm, key)
    thumbprint = Self.digest(of: key)
    if algorithm == .rs256 && EVP_PKEY_get_bits(key) < Self.fewestBits { return nil }
  }

  deinit { EVP_PKEY_free(key) }

  /// SHA-256 of the key's SubjectPublicKeyInfo (RFC 5280, 4.1), its first 16 bytes; empty: there was no memory for it.
  private static func digest(of key: OpaquePointer) -> [UInt8] {
    var encoded: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &encoded)
    defer { CRYPTO_free(encoded, nil, 0) }
    var digest = [UInt8](repeating: 0, count: 32)
    guard count > 0, EVP_Digest(encoded, Int(count), &digest, nil, EVP_sha256(), nil) == 1 else { return [] }
    return Array(digest.prefix(16))
  }

  /// Whether a signature of these bytes was made with the private half of this key.
  func hasSigned(_ bytes: [UInt8], _ signature: [UInt8]) -> Bool {
    guard let signature = algorithm == .es256 ? Self.der(signature) : signature,
      let context = EVP_MD_CTX_new()
    else { return false }
    defer { EVP_MD_CTX_free(context) }
    let digest = algorithm == .edDSA ? nil : "SHA256"
    return EVP_DigestVerifyInit_ex(context, nil, digest, nil, nil, key, nil) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }

  /// The two numbers of a signature as OpenSSL wants them (X.690): a sequence of two integers.
  private static func der(_ signature: [UInt8]) -> [UInt8]? {
    if signature.count != 64 { return nil }
    func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      var digits = Array(bytes.drop { $0 == 0 })
      // The first bit is the sign.
      if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
      return [0x02, UInt8(digits.count)] + digits
    }
    let numbers = integer(signature[..<32]) + integer(signature[32...])
    return [0x30, UInt8(numbers.count)] + numbers
  }

  // MARK: Reading

  /// The keys of a set (RFC 7517, 5). Those of kinds that are not known, or for encryption, are left out.
  ///
  /// - Throws: ``IdentityError``, where it is no set of keys, or none is of use.
  static func read(_ json: String) throws(IdentityError) -> [JSONWebKey] {
    do {
      let parser = try JSONParser()
      guard try parser.isObject(json),
        let list = try parser.members(json).first(where: { $0.key == "keys" }), list.kind == .array
      else { throw IdentityError("it is no JSON object with 'keys'") }
      var keys: [JSONWebKey] = []
      let entries = try parser.members(list.text)
      for entry in entries where entry.kind == .object {
        if let key = key(try parser.members(entry.text)) { keys.append(key) }
      }
      // An empty set takes all keys back.
      if keys.isEmpty && !entries.isEmpty {
        throw IdentityError("it has no key for \(Algorithm.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return keys
    } catch let error as IdentityError {
      throw error
    } catch {
      throw IdentityError("it is no JSON: \(error)")
    }
  }

  private static func key(_ members: [JSONParser.Member]) -> JSONWebKey? {
    func text(_ name: String) -> String? {
      let found = members.filter { $0.key == name }
      return found.count == 1 && found[0].kind == .text ? found[0].text : nil
    }
    func number(_ name: String) -> [UInt8]? { text(name).flatMap(Base64URL.bytes) }
    if let use = text("use"), use != "sig" { return nil }
    let (id, stated) = (text("kid"), text("alg"))
    func isFor(_ algorithm: Algorithm) -> Bool { stated == nil || stated == algorithm.rawValue }
    switch (text("kty"), text("crv")) {
    case ("RSA", _):
      guard isFor(.rs256), let modulus = number("n"), let exponent = number("e") else { return nil }
      return JSONWebKey(id: id, .rs256, rsa(modulus, exponent))
    case ("EC", "P-256"):
      guard isFor(.es256), let x = number("x"), let y = number("y"), x.count == 32, y.count == 32 else {
        return nil
      }
      return JSONWebKey(id: id, .es256, p256([0x04] + x + y))
    case ("OKP", "Ed25519"):
      guard isFor(.edDSA), let point = number("x"), point.count == 32 else { return nil }
      return JSONWebKey(
        id: id, .edDSA, EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, point, point.count))
    default: return nil
    }
  }

  // MARK: OpenSSL's keys

  private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) -> OpaquePointer? {
    // As numbers of this machine, which has the least first.
    var (modulus, exponent) = (Array(modulus.reversed()), Array(exponent.reversed()))
    if modulus.isEmpty || exponent.isEmpty || modulus.count > 2048 { return nil }
    return "n".withCString { n in
      "e".withCString { e in
        modulus.withUnsafeMutableBytes { modulus in
          exponent.withUnsafeMutableBytes { exponent in
            made(
              "RSA",
              [
                parameter(n, OSSL_PARAM_UNSIGNED_INTEGER, modulus),
                parameter(e, OSSL_PARAM_UNSIGNED_INTEGER, exponent),
              ])
          }
        }
      }
    }
  }

  private static func p256(_ point: [UInt8]) -> OpaquePointer? {
    // OpenSSL reads the name to its NUL, and not to the length that it is said to have.
    var (point, name) = (point, Array("prime256v1".utf8) + [0])
    return "group".withCString { group in
      "pub".withCString { pub in
        point.withUnsafeMutableBytes { point in
          name.withUnsafeMutableBytes { name in
            // A point that is not on the curve makes no key.
            made(
              "EC",
              [
                parameter(
                  group, OSSL_PARAM_UTF8_STRING, UnsafeMutableRawBufferPointer(rebasing: name.dropLast())),
                parameter(pub, OSSL_PARAM_OCTET_STRING, point),
              ])
          }
        }
      }
    }
  }

  private static func parameter(
    _ name: UnsafePointer<CChar>, _ type: Int32, _ bytes: UnsafeMutableRawBufferPointer
  ) -> OSSL_PARAM {
    OSSL_PARAM(
      key: name, data_type: UInt32(type), data: bytes.baseAddress, data_size: bytes.count, return_size: 0)
  }

  private static func made(_ kind: String, _ parameters: [OSSL_PARAM]) -> OpaquePointer? {
    var parameters = parameters + [OSSL_PARAM_construct_end()]
    guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      EVP_PKEY_fromdata(context, &key, sluice_public_key, &parameters) == 1
    else {
      ERR_clear_error()
      return nil
    }
    return key
  }
}

/// Why keys cannot be used.
public struct IdentityError: Error, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Base64 as tokens have it (RFC 7515, 2): other letters for two values, and no padding.
enum Base64URL {
  /// `nil`: it is none.
  static func bytes(_ text: String) -> [UInt8]? {
    var letters: [UInt8] = []
    for letter in text.utf8 {
      switch letter {
      case UInt8(ascii: "-"): letters.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): letters.append(UInt8(ascii: "/"))
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        letters.append(letter)
      default: return nil
      }
    }
    while letters.count % 4 != 0 { letters.append(UInt8(ascii: "=")) }
    guard let bytes = Base64.bytes(String(decoding: letters, as: UTF8.self)) else { return nil }
    // Bits at the end that say nothing: the same bytes have one text.
    let again = Base64.text(bytes).utf8.prefix { $0 != UInt8(ascii: "=") }
    return again.elementsEqual(letters.prefix { $0 != UInt8(ascii: "=") }) ? bytes : nil
  }
}
