import Foundation
import Glibc
import Testing

@testable import sluice_bench

struct LinkRowsTests {
  private static func claim(_ order: LinkRows.Order) throws -> Double {
    let folder = NSTemporaryDirectory() + "sluice-bench-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try BenchLedger.at(folder, seals: true) {
      try $0.takeIn(links: 3000, order.host)
      return try LinkRows.claim($0).claim
    }
  }

  /// It throws if a claim gets less than it wants, or a link cannot be opened.
  @Test(arguments: LinkRows.Order.allCases) func linksAreClaimed(order: LinkRows.Order) throws {
    #expect(try Self.claim(order) > 0)
  }

  @Test func newLinksAreClaimedBesideThoseThatWait() throws {
    let folder = NSTemporaryDirectory() + "sluice-bench-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let time = try BenchLedger.at(folder, seals: true) {
      try LinkRows.putAside(3000, $0)
      return try LinkRows.claimNew($0, "new-").claim
    }
    #expect(time > 0)
  }

  @Test func mostOfOneHostAreAtTheFront() {
    let hosts = (0..<20_000).map { LinkRows.Order.oneFirst.host($0, of: 20_000) }
    #expect(hosts.prefix(18_000).allSatisfy { $0 == 0 })
    #expect(Set(hosts.suffix(2000)).count == 10)
  }
}

struct DeadHostTests {
  /// As one behind a firewall: not even a refusal comes.
  @Test func aDeadHostAnswersNothing() throws {
    let host = try DeadHost(at: 0x7F00_000B)
    let socket = try LoopbackSocket(connectingTo: 0x7F00_000B, host.port, waits: false)
    var one = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
    #expect(poll(&one, 1, 500) == 0)
  }
}
