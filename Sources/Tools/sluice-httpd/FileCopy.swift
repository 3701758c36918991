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
  /// It was written to meanwhile: the copy may be none of what it ever was.
  static let isChanged = ESTALE

  /// The steps in which a kernel counts the times of files, in microseconds: two changes within one may leave the same time.
  private static let step: UInt32 = 10_000

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
    let age = Clock.now() * 1000 - max(microseconds(facts.st_mtim), microseconds(facts.st_ctim))
    if (0..<Int64(step)).contains(age) {
      usleep(step)
      if fstat(source.number, &facts) != 0 { return EIO }
    }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { room.deallocate() }
    var place: Int64 = 0
    while isWanted() {
      let count = pread(source.number, room.baseAddress, room.count, off_t(place))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return errno == EBADF ? isNotReadable : EIO }
      if count == 0 { return isSame(source, facts) ? 0 : isChanged }
      // It may grow meanwhile.
      if place + Int64(count) > limit { return isTooLong }
      if !write(UnsafeRawBufferPointer(rebasing: room[..<count]), to: target, at: place) {
        return isNotWritten
      }
      place += Int64(count)
    }
    return ECANCELED
  }

  private static func microseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
  }

  private static func isSame(_ source: SharedDescriptor, _ before: stat) -> Bool {
    var after = stat()
    return fstat(source.number, &after) == 0 && after.st_size == before.st_size
      && after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec
      && after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec
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
