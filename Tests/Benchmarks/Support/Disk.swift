import Glibc
import Platform

/// The kinds of disk that figures are taken on.
enum DiskKind: String, CaseIterable, Sendable {
  /// A file system with a journal, on which a sync takes time.
  case journaled
  /// A file system in memory, on which a sync is free.
  case memory
  /// The file system that the project's folder lies on.
  case here
}

/// A file system that rows are measured on.
struct Disk: Sendable {
  /// Its type, such as `ext4`; `tmpfs` for one in memory.
  var fileSystem: String
  /// The seconds that it takes to write 4 KiB at the end of a file and sync them, each time.
  var syncs: Series
  /// What it is, for the reader of the table.
  var origin: String

  /// - Parameter folder: lies on it.
  init(_ folder: String, origin: String) throws {
    fileSystem = try Self.type(of: folder)
    syncs = try Self.syncs(in: folder, count: 200)
    self.origin = origin
  }

  init(fileSystem: String, syncs: Series, origin: String) {
    (self.fileSystem, self.syncs, self.origin) = (fileSystem, syncs, origin)
  }

  /// The cost of a sync, with its unit.
  var syncCost: String {
    let cost = syncs.median
    return cost < 1e-3 ? Table.number(cost * 1e6) + " us" : Table.number(cost * 1e3) + " ms"
  }

  private static func syncs(in folder: String, count: Int) throws -> Series {
    let path = folder + "/sync"
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
    defer { unlink(path) }
    let page = [UInt8](repeating: 0x5A, count: 4096)
    return Series(
      try (0..<count).map { _ in
        let started = Clock.monotonic()
        guard write(file.number, page, page.count) == page.count, fdatasync(file.number) == 0 else {
          throw SystemError("syncing \(path)")
        }
        return Double(Clock.monotonic() - started) / 1e9
      })
  }

  /// The type of a folder's file system, by the longest mount point that leads to it.
  private static func type(of folder: String) throws -> String {
    Mounts(try Files.text("/proc/self/mounts")).type(of: Settings.absolute(folder)) ?? "unknown"
  }
}

/// The mounted file systems, as /proc/self/mounts lists them (proc(5), fstab(5)).
struct Mounts {
  private var entries: [(point: String, type: String)] = []

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count > 2 { entries.append((Self.plain(fields[1]), String(fields[2]))) }
    }
  }

  /// The type of the file system that a path without symbolic links lies on. Of two at one point, the later hides the other.
  func type(of path: String) -> String? {
    var best: (point: String, type: String)?
    for entry in entries
    where entry.point == "/" || path == entry.point || path.hasPrefix(entry.point + "/") {
      if entry.point.utf8.count >= best?.point.utf8.count ?? 0 { best = entry }
    }
    return best?.type
  }

  /// Whether something is mounted at this path.
  func isPoint(_ path: String) -> Bool { entries.contains { $0.point == path } }

  /// White space and backslashes are written as `\` and three octal digits.
  private static func plain(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
