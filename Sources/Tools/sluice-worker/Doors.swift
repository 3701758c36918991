import CWorker
import Glibc

/// The process that connects to Unix sockets for stages with capability network: started before any plugin is loaded, told
/// the paths while stages open.
enum Doors {
  /// The socket by which it is told; -1: there is none, or no more are told.
  ///
  /// Unchecked because stages are opened on the worker's one thread.
  nonisolated(unsafe) private static var socket: Int32 = -1

  static func start() { socket = sluice_doors_start() }

  /// A door to a path, or -1 and errno.
  static func open(_ path: UnsafePointer<CChar>) -> Int32 {
    if socket < 0 {
      errno = ESRCH
      return -1
    }
    return sluice_doors_add(socket, path)
  }

  /// No stage opens any more.
  static func finish() {
    if socket >= 0 { close(socket) }
    socket = -1
  }
}
