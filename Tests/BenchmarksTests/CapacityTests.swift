import Foundation
import Testing

@testable import sluice_bench

/// A scheduler with scripted workers and a real ledger.
struct CapacityTests {
  private static func measure(workers: Int, contentTime: UInt64, _ count: Int) throws -> CapacityRows.Run {
    let folder = NSTemporaryDirectory() + "sluice-bench-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Files.makeFolder(folder + "/inbox")
    for index in 0..<10 { try Files.write("file \(index)\n", to: "\(folder)/inbox/\(index).txt") }
    return try CapacityRows.measure(
      home: folder + "/home", workers: workers, contentTime: contentTime, count,
      try BenchLedger.Sources(files: folder + "/inbox"))
  }

  /// It throws if an attachment does not end, or is not told.
  @Test func everyAttachmentEnds() throws {
    let run = try Self.measure(workers: 4, contentTime: 0, 1200)
    #expect(run.rate > 0)
    #expect(run.scheduler > 0)
    #expect(run.ledger > 0)
  }

  /// Twenty milliseconds each with two workers are a hundred a second at most.
  @Test func workersTakeTheirTime() throws {
    let run = try Self.measure(workers: 2, contentTime: 20_000_000, 30)
    #expect(run.rate <= 100)
  }
}
