import CPlatform
import Foundation
import Glibc
import Testing

/// The socket at which systemd hears a service (sd_notify(3)).
final class NotifySocket {
  /// For `NOTIFY_SOCKET`.
  let place = "@sluice-\(UUID().uuidString)"
  private let socket: Int32

  init() throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = [0] + Array(place.utf8.dropFirst())
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(2 + name.count))
      }
    }
    try #require(bound == 0)
    sluice_limit_receiving(socket, 10_000)
  }

  deinit { close(socket) }

  /// The next message; empty: none came for ten seconds.
  func next() -> String { receive(0) }

  /// All waiting messages.
  func heard() -> [String] {
    var all: [String] = []
    while case let text = receive(Int32(MSG_DONTWAIT)), !text.isEmpty { all.append(text) }
    return all
  }

  private func receive(_ flags: Int32) -> String {
    var room = [UInt8](repeating: 0, count: 100)
    let count = recv(socket, &room, room.count, flags)
    return String(decoding: room[..<max(count, 0)], as: UTF8.self)
  }
}
