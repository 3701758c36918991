import Foundation
import Glibc

/// A small file system in memory, mounted on a folder. Only root may mount.
final class SmallDisk {
  let path: String

  /// - Parameters:
  ///   - path: the folder, which is created.
  ///   - size: as mount(8) takes it: `4m`.
  init(_ path: String, size: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Self.mount(["-t", "tmpfs", "-o", "size=\(size),mode=700", "tmpfs", path])
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
  }

  /// Enlarges it, with all its content.
  func grow(to size: String) throws { try Self.mount(["-o", "remount,size=\(size)", path]) }

  /// Fills the remaining space with a file. Deleting the file frees it.
  func fill(_ name: String) throws {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    if file < 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    let page = [UInt8](repeating: 0, count: 4096)
    while write(file, page, page.count) > 0 {}
    if errno != ENOSPC { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  /// Whether this process may mount one, determined by trying.
  static let isPossible: Bool = {
    guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
    return (try? SmallDisk(folder.path + "/disk", size: "64k")) != nil
  }()

  /// For `.enabled(if:)`.
  static let skipped = "skipped: only root may mount a small file system, and not in every container"

  private struct Refused: Error {
    var arguments: [String]
  }

  private static func mount(_ arguments: [String]) throws {
    if try FixtureStages.run("/usr/bin/mount", arguments) != 0 { throw Refused(arguments: arguments) }
  }
}
