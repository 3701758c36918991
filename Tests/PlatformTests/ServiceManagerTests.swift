import Foundation
import Glibc
import Platform
import Testing

/// What systemd is told.
struct ServiceManagerTests {
  /// A socket as systemd has it.
  private final class Listener {
    let number: Int32

    /// - Parameter place: a path, or a name that begins with `@`.
    init(_ place: String) throws {
      number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var name = Array(place.utf8)
      if name[0] == UInt8(ascii: "@") { name[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
      let length = socklen_t(2 + name.count + (name[0] == 0 ? 0 : 1))
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
      }
      try #require(result == 0)
    }

    deinit { close(number) }

    func heard() -> [String] {
      var messages: [String] = []
      var room = [UInt8](repeating: 0, count: 1000)
      while case let count = recv(number, &room, room.count, 0), count > 0 {
        messages.append(String(decoding: room[..<count], as: UTF8.self))
      }
      return messages
    }
  }

  @Test(arguments: [true, false])
  func itIsToldWhatHappens(isAbstract: Bool) throws {
    let place =
      isAbstract ? "@sluice-\(UUID().uuidString)" : "\(NSTemporaryDirectory())/\(UUID().uuidString.prefix(8))"
    defer { unlink(place) }
    let listener = try Listener(place)
    let manager = ServiceManager(place: place, time: "1000000", process: "\(getpid())")
    manager.beat(at: 5)
    manager.ready()
    // Twice as often as in a second.
    for time in stride(from: UInt64(100_000_000), through: 1_100_000_000, by: 100_000_000) {
      manager.beat(at: time)
    }
    manager.stopping()
    #expect(listener.heard() == ["WATCHDOG=1", "READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"])
  }

  @Test func aWatchdogOfAnotherProcessIsNotFed() throws {
    let place = "@sluice-\(UUID().uuidString)"
    let listener = try Listener(place)
    let manager = ServiceManager(place: place, time: "1000000", process: "1")
    manager.beat(at: 5)
    manager.ready()
    #expect(listener.heard() == ["READY=1"])
  }

  @Test func withoutSystemdNothingHappens() {
    for place in [nil, "", "/nowhere/at/all", "@" + String(repeating: "x", count: 200)] {
      let manager = ServiceManager(place: place, time: "1", process: nil)
      manager.ready()
      manager.beat(at: 1)
      manager.stopping()
    }
  }
}
