import Foundation
import Testing

/// Memory of all processes while many links are fetched at once.
@Suite(.serialized)
struct DownloadMemoryTests {
  @Test func fiftyTransfersAtOnceTakeLittleMemory() throws {
    #expect(try ManyTransfers(size: 5_000_000).run() == 0)
  }
}

/// The long version, for `make soak`.
@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct DownloadMemorySoakTests {
  @Test func fiftyLargeTransfersAtOnceTakeLittleMemory() throws {
    let failures = try ManyTransfers(size: 50 << 20).run()
    Soak.row("50 transfers of 50 MB at once in 160 MB of memory", tries: 1, failures: failures)
  }
}

private struct ManyTransfers {
  let size: Int
  private static let count = 50
  private static let limit = 160 << 20

  init(size: Int) { self.size = size }

  /// Returns how many checks failed.
  func run() throws -> Int {
    let home = try DownloadHome(["connections: \(Self.count)", "per-host: \(Self.count)"])
    // Slow until all are under way.
    let server = try ContentServer(rate: 5_000_000)
    let coordinator = try Resident(home.folder)
    let paths = (1...Self.count).map { "/content/\(size)/\($0)" }
    try home.enqueue(paths, at: server.url)
    try Resident.wait("all are under way") { server.active == Self.count }
    server.setRate(0)
    var most = 0
    try Resident.wait("all are through", seconds: 120) {
      most = max(most, Self.proportionalMemory(of: coordinator.process.processIdentifier))
      return coordinator.ended.count == Self.count
    }
    #expect(most > 10 << 20 && most < Self.limit, "\(most >> 20) MiB")
    let wrong = try home.checkCompleted(paths)
    #expect(coordinator.stop() == 0)
    return wrong + (most < Self.limit ? 0 : 1)
  }

  /// Bytes of a process and of all below it, with each page that is shared counted once in all (PSS, proc(5)).
  private static func proportionalMemory(of process: Int32) -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") } ?? ""
    let own = line.split(separator: " ").compactMap { Int($0) }.first ?? 0
    let children = threads(of: process).flatMap { thread in
      let text =
        (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { Int32($0) }
    }
    return own << 10 + children.reduce(0) { $0 + proportionalMemory(of: $1) }
  }

  private static func threads(of process: Int32) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
  }
}
