import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Platform

/// The socket in a home by which other processes reach its coordinator.
///
/// It is opened through the home's descriptor: a socket's path has at most 107 bytes (unix(7)), and a home's
/// path may be longer.
enum ControlSocket {
  static let name = "sluice.sock"

  /// Milliseconds that a client waits to be accepted, unless it says another time.
  static let welcomeTimeout: Int32 = 10_000

  static func listen(_ home: Home) throws(SystemError) -> Descriptor {
    let folder = try Descriptor.open(home.path, O_RDONLY | O_DIRECTORY)
    // The process that left it has ended: this process holds the home's lock.
    unlinkat(folder.number, name, 0)
    let descriptor = sluice_listen(path(in: folder.number))
    if descriptor < 0 { throw SystemError("listening on \(home.path)/\(name)") }
    return Descriptor(owning: descriptor)
  }

  /// - Parameter patience: milliseconds to wait to be accepted.
  static func connect(_ home: Home, within patience: Int32 = welcomeTimeout) throws(SystemError) -> Descriptor
  {
    let folder = try Descriptor.open(home.path, O_RDONLY | O_DIRECTORY)
    let descriptor = sluice_connect(path(in: folder.number), patience)
    if descriptor < 0 {
      throw SystemError("connecting to \(home.path)/\(name)", code: errno == EAGAIN ? ETIMEDOUT : errno)
    }
    return Descriptor(owning: descriptor)
  }

  static func remove(_ home: Home) {
    unlink("\(home.path)/\(name)")
  }

  private static func path(in folder: Int32) -> String { "/proc/self/fd/\(folder)/\(name)" }
}
