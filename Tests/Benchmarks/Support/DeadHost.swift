import Glibc
import Platform

/// A host on the loopback network that drops each packet: its queue of connections is full, and no one takes them.
final class DeadHost {
  let port: UInt16
  private let listener: LoopbackSocket
  private var fillers: [LoopbackSocket] = []

  /// - Parameter address: of the loopback network.
  init(at address: UInt32) throws {
    listener = try LoopbackSocket(at: address)
    port = listener.port
    // The kernel lets one more in than it was told.
    if listen(listener.number, 0) != 0 { throw SystemError("listening") }
    for _ in 0..<4 { fillers.append(try LoopbackSocket(connectingTo: address, port, waits: false)) }
  }
}
