import CCrypto
import Glibc

/// SHA-256, which nearly all is hashed with.
public typealias SHA256 = MessageDigest

/// A hash function of OpenSSL's, used by one thread. It keeps what OpenSSL looks up by name.
public final class MessageDigest {
  public enum Algorithm: String, Sendable {
    case sha256
    /// For those who ask for it: it finds damage, and is no protection from people.
    case sha1

    /// Bytes of a digest.
    public var length: Int { self == .sha1 ? 20 : 32 }
  }

  private let algorithm: OpaquePointer
  private let context: OpaquePointer
  private let length: Int

  /// Begins a digest.
  public init(_ algorithm: Algorithm = .sha256) throws(SystemError) {
    guard let found = EVP_MD_fetch(nil, algorithm.rawValue, nil) else {
      throw SystemError("asking OpenSSL for \(algorithm)", code: ENOSYS)
    }
    guard let context = EVP_MD_CTX_new() else {
      EVP_MD_free(found)
      throw SystemError("asking OpenSSL for \(algorithm)", code: ENOMEM)
    }
    self.algorithm = found
    self.context = context
    length = algorithm.length
    begin()
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_MD_free(algorithm)
  }

  /// Begins another digest.
  public func begin() { EVP_DigestInit_ex2(context, algorithm, nil) }

  public func add(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The digest of what was added: of SHA-256 32 bytes.
  public func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { digest, count in
      EVP_DigestFinal_ex(context, digest.baseAddress, nil)
      count = length
    }
  }

  /// The digest of several values: 32 bytes.
  public func digest(of values: borrowing HashedValues) -> [UInt8] {
    begin()
    values.bytes.withUnsafeBytes { add($0) }
    return finish()
  }
}

/// Values to be hashed together. Each goes in with its length, so that no other values give the same bytes.
public struct HashedValues: ~Copyable {
  fileprivate var bytes: [UInt8] = []

  public init() {
    bytes.reserveCapacity(256)
  }

  public mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  public mutating func add(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { add($0) }
  }

  private mutating func add(_ value: UnsafeRawBufferPointer) {
    addLength(value.count)
    bytes.append(contentsOf: value)
  }

  /// Short in one byte.
  private mutating func addLength(_ length: Int) {
    if length < 255 {
      bytes.append(UInt8(length))
    } else {
      bytes.append(255)
      add(Int64(length))
    }
  }

  public mutating func add(_ number: Int64) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
}
