import Glibc
import Platform

/// Hashes objects. That does not parse the content, so it needs no separate process.
public final class ObjectHash {
  private let hash: SHA256
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)

  public init() throws(SystemError) {
    do throws(SystemError) {
      hash = try SHA256()
    } catch {
      piece.deallocate()
      throw error
    }
  }

  deinit {
    piece.deallocate()
  }

  /// The digest of a file's first `size` bytes; bytes appended meanwhile are ignored.
  public func digest(of file: Int32, size: Int64) throws(SystemError) -> [UInt8] {
    hash.begin()
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL)
    var offset: Int64 = 0
    while offset < size {
      let count = pread(file, piece.baseAddress, min(piece.count, Int(size - offset)), off_t(offset))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("reading") }
      if count == 0 { break }
      hash.add(UnsafeRawBufferPointer(rebasing: piece[..<count]))
      offset += Int64(count)
    }
    return hash.finish()
  }
}
