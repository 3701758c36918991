import CPlatform
import Glibc
import Platform

/// A TCP socket of this machine, closed with its last reference.
final class LoopbackSocket {
  let number: Int32
  private(set) var port: UInt16 = 0

  /// Binds a free port of an address.
  init(at address: UInt32 = 0x7F00_0001) throws {
    number = try Self.make()
    var place = Self.place(address, 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let socket = number
    let failed = withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) != 0 || getsockname(socket, $0, &size) != 0
      }
    }
    if failed { throw SystemError("binding a port") }
    port = UInt16(bigEndian: place.sin_port)
  }

  /// - Parameter waits: until it is connected.
  init(connectingTo address: UInt32, _ port: UInt16, waits: Bool = true) throws {
    number = try Self.make()
    if !waits { sluice_set_nonblocking(number) }
    var place = Self.place(address, port)
    let socket = number
    let failed = withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0 && errno != EINPROGRESS
      }
    }
    if failed { throw SystemError("connecting") }
  }

  deinit { close(number) }

  private static func make() throws -> Int32 {
    let number = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if number < 0 { throw SystemError("making a socket") }
    return number
  }

  private static func place(_ address: UInt32, _ port: UInt16) -> sockaddr_in {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = address.bigEndian
    place.sin_port = port.bigEndian
    return place
  }
}
