import CCrypto
import Glibc

/// Bytes of a key, in a page of their own: it is in no core file, is not swapped out where the limits allow that, and is
/// overwritten at its end.
///
/// Unchecked because the bytes are written in `init` only.
final class KeyRoom: @unchecked Sendable {
  private let page: UnsafeMutableRawPointer
  private let length: Int
  let count: Int

  /// - Parameters:
  ///   - count: the bytes it holds.
  ///   - body: fills them.
  init(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
  ) throws(SealingError) {
    self.count = count
    let size = Int(getpagesize())
    length = (count + size - 1) / size * size
    let mapped = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let mapped, mapped != MAP_FAILED else {
      throw SealingError(.system, "there is no memory for a key; end other programs, then run again")
    }
    page = mapped
    madvise(page, length, MADV_DONTDUMP)
    mlock(page, length)
    // What is thrown here leaves an object that is whole, so that `deinit` runs.
    try body(UnsafeMutableRawBufferPointer(start: page, count: count))
  }

  deinit {
    OPENSSL_cleanse(page, length)
    munmap(page, length)
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: page, count: count) }

  /// Whether two rooms hold the same, in a time that does not depend on where they differ.
  func equals(_ other: KeyRoom) -> Bool {
    count == other.count && CRYPTO_memcmp(page, other.page, count) == 0
  }
}
