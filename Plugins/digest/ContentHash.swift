import CCrypto
import StageKit

/// SHA-256 by OpenSSL, which uses the processor's instructions for it.
///
/// `EVP_sha256()` would look the algorithm up for every file. `EVP_MD_fetch` looks it up once, and the
/// context is created once and reused (crypto(7ossl), "Performance"; EVP_DigestInit(3ossl)).
final class ContentHash {
  private static let pieceSize = 256 * 1024

  private let algorithm: OpaquePointer
  private let context: OpaquePointer
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 64)

  init() throws(Outcome) {
    guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil) else {
      piece.deallocate()
      throw .fail("no-sha256", "this OpenSSL offers no SHA-256")
    }
    guard let context = EVP_MD_CTX_new() else {
      piece.deallocate()
      EVP_MD_free(algorithm)
      throw .fail("no-sha256", "no memory for OpenSSL")
    }
    self.algorithm = algorithm
    self.context = context
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_MD_free(algorithm)
    piece.deallocate()
  }

  /// The digest of the whole content. Throws a retry if the length differs from the measured one, because the
  /// file has changed. A file that keeps growing is read at most one buffer past its measured end.
  func digest(of attachment: Attachment) throws(Outcome) -> String {
    guard EVP_DigestInit_ex2(context, algorithm, nil) == 1 else { throw Self.failure }
    var count: Int64 = 0
    while count <= attachment.size {
      let read = try attachment.read(into: piece, at: count)
      if read == 0 { break }
      guard EVP_DigestUpdate(context, piece.baseAddress, read) == 1 else { throw Self.failure }
      count += Int64(read)
    }
    guard count == attachment.size else {
      throw .retry("source-changed", "\(count) bytes were read where \(attachment.size) had been measured")
    }
    return try finish()
  }

  private func finish() throws(Outcome) -> String {
    var length: UInt32 = 0
    guard EVP_DigestFinal_ex(context, piece.baseAddress, &length) == 1 else { throw Self.failure }
    let digits = Array("0123456789abcdef".utf8)
    let hexadecimal = piece.prefix(Int(length)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return String(decoding: hexadecimal, as: UTF8.self)
  }

  private static let failure = Outcome.fail("no-sha256", "OpenSSL did not finish the SHA-256")
}
