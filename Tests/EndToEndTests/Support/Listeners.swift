import Foundation
import Glibc

/// Sockets of every kind that a worker might reach. Data that arrives waits in the kernel until it is asked
/// for.
final class Listeners {
  let tcp: UInt16
  let udp: UInt16
  let abstract: String
  private var streams: [Int32] = []
  private var datagrams: [Int32] = []

  /// - Parameter folder: the folder of the sockets with a path: `stream`, `packet` and `datagram`.
  init(in folder: String) throws {
    let address = sockaddr_in(
      sin_family: sa_family_t(AF_INET), sin_port: 0, sin_addr: in_addr(s_addr: UInt32(0x7F00_0001).bigEndian),
      sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
    abstract = "sluice-\(UUID().uuidString)"
    let stream = try Self.bound(SOCK_STREAM, AF_INET, address)
    let datagram = try Self.bound(SOCK_DGRAM, AF_INET, address)
    tcp = try WebhookReceiver.port(of: stream)
    udp = try WebhookReceiver.port(of: datagram)
    streams = [
      stream, try Self.bound(SOCK_STREAM, AF_UNIX, Self.address(folder + "/stream")),
      try Self.bound(SOCK_SEQPACKET, AF_UNIX, Self.address(folder + "/packet")),
      try Self.bound(
        SOCK_STREAM, AF_UNIX, Self.address("\0" + abstract), 2 + 1 + socklen_t(abstract.utf8.count)),
    ]
    datagrams = [datagram, try Self.bound(SOCK_DGRAM, AF_UNIX, Self.address(folder + "/datagram"))]
    for socket in streams where listen(socket, 64) != 0 { throw WebhookReceiver.Failure(call: "listen") }
  }

  deinit {
    for socket in streams + datagrams { close(socket) }
  }

  /// The data received by all sockets; a connection without data is an empty text.
  func heard() -> [String] {
    var heard: [String] = []
    for socket in streams {
      while true {
        let connection = accept(socket, nil, nil)
        if connection < 0 { break }
        heard.append(Self.read(connection) ?? "")
        close(connection)
      }
    }
    for socket in datagrams {
      while let text = Self.read(socket) { heard.append(text) }
    }
    return heard
  }

  private static func read(_ socket: Int32) -> String? {
    var room = [UInt8](repeating: 0, count: 256)
    let count = recv(socket, &room, room.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: room[..<count], as: UTF8.self)
  }

  private static func address(_ path: String) throws -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
      guard path.utf8.count < room.count else { return false }
      room.copyBytes(from: path.utf8)
      return true
    }
    if !fits {
      throw WebhookReceiver.Failure(call: "a path of \(path.utf8.count) bytes", number: ENAMETOOLONG)
    }
    return address
  }

  private static func bound<Address>(
    _ type: __socket_type, _ family: Int32, _ address: Address, _ length: socklen_t? = nil
  ) throws -> Int32 {
    let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let made = socket(family, Int32(type.rawValue) | flags, 0)
    if made < 0 { throw WebhookReceiver.Failure(call: "socket") }
    let bound = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(made, $0, length ?? socklen_t(MemoryLayout<Address>.size))
      }
    }
    if bound != 0 { throw WebhookReceiver.Failure(call: "bind") }
    return made
  }
}
