import CCrypto
import Glibc
import Platform

/// SHA-256 by OpenSSL. Hashing does not parse the content, so it needs no separate process.
final class ObjectHash {
  private let algorithm: OpaquePointer
  private let context: OpaquePointer
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)

  init() throws(SystemError) {
    guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil) else {
      piece.deallocate()
      throw SystemError("asking OpenSSL for SHA-256", code: ENOSYS)
    }
    guard let context = EVP_MD_CTX_new() else {
      EVP_MD_free(algorithm)
      piece.deallocate()
      throw SystemError("asking OpenSSL for SHA-256", code: ENOMEM)
    }
    self.algorithm = algorithm
    self.context = context
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_MD_free(algorithm)
    piece.deallocate()
  }

  /// The digest of a file's first `size` bytes; bytes appended meanwhile are ignored.
  func digest(of file: Int32, size: Int64) throws(SystemError) -> [UInt8] {
    guard EVP_DigestInit_ex2(context, algorithm, nil) == 1 else { throw Self.failure }
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL)
    var offset: Int64 = 0
    while offset < size {
      let count = pread(file, piece.baseAddress, min(piece.count, Int(size - offset)), off_t(offset))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("reading") }
      if count == 0 { break }
      guard EVP_DigestUpdate(context, piece.baseAddress, count) == 1 else { throw Self.failure }
      offset += Int64(count)
    }
    var digest = [UInt8](repeating: 0, count: 32)
    guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw Self.failure }
    return digest
  }

  private static var failure: SystemError { SystemError("computing SHA-256", code: EIO) }
}
