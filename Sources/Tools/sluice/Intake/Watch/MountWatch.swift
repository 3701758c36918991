import Glibc
import Platform

/// The kernel's word on what is mounted (proc_pid_mountinfo(5)): inotify tells nothing of a disk that is mounted on a folder. Used by
/// one thread.
final class MountWatch {
  private let file: Int32
  /// The places of mounts, with their numbers.
  private var mounts: Set<[UInt8]> = []

  /// Without /proc nothing is told.
  init() {
    file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    mounts = read()
  }

  deinit { if file >= 0 { close(file) } }

  /// Where something was mounted or unmounted since the last call.
  func changes() -> [[UInt8]] {
    var waiting = pollfd(fd: file, events: Int16(POLLPRI), revents: 0)
    guard file >= 0, poll(&waiting, 1, 0) > 0 else { return [] }
    let before = mounts
    mounts = read()
    return mounts.symmetricDifference(before).map { Array($0[(($0.firstIndex(of: 0) ?? -1) + 1)...]) }
  }

  /// Of each mount its number, a NUL, and its place.
  private func read() -> Set<[UInt8]> {
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 64 << 10)
    var count = pread(file, &room, room.count, 0)
    while count > 0 {
      bytes += room[..<count]
      count = pread(file, &room, room.count, off_t(bytes.count))
    }
    return Set(
      bytes.split(separator: 0x0A).compactMap { line in
        let fields = line.split(separator: 0x20, maxSplits: 5)
        return fields.count > 5 ? Array(fields[0]) + [0] + Self.unescaped(fields[4]) : nil
      })
  }

  /// Blanks and backslashes stand there as three octal digits.
  private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var index = field.startIndex
    while index < field.endIndex {
      let digits = field[(index + 1)...].prefix(3)
      if field[index] == UInt8(ascii: "\\"), digits.count == 3,
        let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(byte)
        index += 4
      } else {
        bytes.append(field[index])
        index += 1
      }
    }
    return bytes
  }
}
