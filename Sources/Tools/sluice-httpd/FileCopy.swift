import CPlatform
import Glibc
import Platform

/// The copy of a file that a client has open.
enum FileCopy {
  // Faults beside those of reading, as errno values that reading a file does not give.

  /// It is no regular file.
  static let isNoFile = EINVAL
  /// What it has the kernel makes as it is read, perhaps without end.
  static let isOfKernel = ENODEV
  /// It has more bytes than the limit.
  static let isTooLong = EFBIG
  /// It is not open for reading.
  static let isNotReadable = EBADF
  /// The copy cannot be written.
  static let isNotWritten = ENOSPC

  /// Copies at most so many bytes. May block for as long as the file's system does.
  ///
  /// - Returns: 0, or why not all of it is there.
  static func copy(
    _ source: SharedDescriptor, to target: SharedDescriptor, atMost limit: Int64, _ isWanted: () -> Bool
  ) -> Int32 {
    var facts = stat()
    guard fstat(source.number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return isNoFile }
    let ofKernel = sluice_is_kernel_file(source.number)
    if ofKernel != 0 { return ofKernel > 0 ? isOfKernel : EIO }
    if facts.st_size > limit { return isTooLong }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { room.deallocate() }
    var place: Int64 = 0
    while isWanted() {
      let count = pread(source.number, room.baseAddress, room.count, off_t(place))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return errno == EBADF ? isNotReadable : EIO }
      if count == 0 { return 0 }
      // It may grow meanwhile.
      if place + Int64(count) > limit { return isTooLong }
      if !write(UnsafeRawBufferPointer(rebasing: room[..<count]), to: target, at: place) {
        return isNotWritten
      }
      place += Int64(count)
    }
    return ECANCELED
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to file: SharedDescriptor, at place: Int64)
    -> Bool
  {
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        file.number, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(place) + off_t(done))
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return false }
      done += count
    }
    return true
  }
}
