import Glibc
import Platform

/// The kernel's word on what changes in folders (inotify(7)). Used by one thread.
final class FolderWatch {
  enum Change {
    /// A file appeared, or its content changed. The writer may still have it open.
    case written([UInt8])
    /// A file was closed after writing, or came whole under this name.
    case finished([UInt8])
    /// A folder appeared.
    case folder([UInt8])
    /// A folder is watched no longer: the folder was removed, or its file system unmounted.
    case ended([UInt8])
    /// The kernel dropped changes: anything that is watched may have changed.
    case lost
  }

  /// Readable when something has changed.
  let readable: Int32
  /// The paths of the folders, by the kernel's numbers.
  private var paths: [Int32: [UInt8]] = [:]
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)

  private static let wanted = UInt32(
    IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR | IN_DONT_FOLLOW
      | IN_EXCL_UNLINK)

  init() throws {
    readable = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    if readable < 0 && errno == EMFILE {
      throw CommandError(
        .configuration,
        "--watch: this user has as many inotify instances as the system allows; end a program that watches folders, or raise "
          + "fs.inotify.max_user_instances")
    }
    if readable < 0 { throw SystemError("watching folders") }
  }

  deinit {
    close(readable)
    room.deallocate()
  }

  /// Watches a folder, without those in it. False: see errno.
  func add(_ path: [UInt8]) -> Bool {
    let number = path.withPath { inotify_add_watch(readable, $0, Self.wanted) }
    if number < 0 { return false }
    paths[number] = path
    return true
  }

  /// Watches a folder, and all in it, no longer.
  func remove(_ folder: [UInt8]) {
    for (number, path) in paths where path == folder || path.starts(with: folder + [UInt8(ascii: "/")]) {
      inotify_rm_watch(readable, number)
      paths[number] = nil
    }
  }

  /// What has changed, in order, without waiting. Empty: nothing, for the moment.
  func read() -> [Change] {
    var changes: [Change] = []
    let count = Glibc.read(readable, room.baseAddress, room.count)
    var place = 0
    while place + Self.headSize <= count {
      let number = room.loadUnaligned(fromByteOffset: place, as: Int32.self)
      let what = room.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
      let length = Int(room.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self))
      let name = room[(place + Self.headSize)...].prefix(length).prefix { $0 != 0 }
      take(number, what, Array(name), &changes)
      place += Self.headSize + length
    }
    return changes
  }

  /// Of an event, before the name.
  private static let headSize = 16

  private func take(_ number: Int32, _ what: UInt32, _ name: [UInt8], _ changes: inout [Change]) {
    func holds(_ bits: some BinaryInteger) -> Bool { what & UInt32(truncatingIfNeeded: bits) != 0 }
    if holds(IN_Q_OVERFLOW) { return changes.append(.lost) }
    guard let folder = paths[number] else { return }
    if holds(IN_IGNORED) {
      paths[number] = nil
      return changes.append(.ended(folder))
    }
    if name.isEmpty { return }
    let path = folder + [UInt8(ascii: "/")] + name
    if holds(IN_ISDIR) {
      if holds(IN_MOVED_FROM) { remove(path) }
      if holds(IN_CREATE | IN_MOVED_TO) { changes.append(.folder(path)) }
    } else if holds(IN_CLOSE_WRITE | IN_MOVED_TO) {
      changes.append(.finished(path))
    } else if holds(IN_CREATE | IN_MODIFY) {
      changes.append(.written(path))
    }
  }
}
