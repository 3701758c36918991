import Foundation
import Platform
import Testing

/// Power cuts: an ingest is recorded, disks are built as a power cut at any moment may leave them, and the
/// next ingest must recover each. What was printed before the cut must be true after it.
@Suite(.serialized)
struct PowerLossTests {
  @Test func nothingIsLostWhenThePowerIsCut() throws { try PowerCuts(seed: 1).run(recordings: 2, images: 30) }

  /// Unsynced data may be on disk at its end and not at its beginning.
  @Test func aHoleInTheFileOfEventsIsCutOff() throws {
    let ingest = try FaultedIngest()
    try ingest.run()
    let file = ingest.folder.path + "/var/events.jsonl"
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    let lines = whole.split(separator: UInt8(ascii: "\n"))
    let torn = whole + lines[0].prefix(20) + Data(count: 700) + lines[1] + Data("\n".utf8)
    try torn.write(to: URL(fileURLWithPath: file))
    // The channel opens its file for its first event.
    try ingest.add("late.txt", "one more\n")
    #expect(try ingest.finish("a hole") == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)).starts(with: whole))
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct PowerLossSoakTests {
  @Test func nothingIsLostInTwoThousandCuts() throws {
    try PowerCuts(seed: 2).run(recordings: 10, images: 200)
  }
}

private final class PowerCuts {
  private var random: SplitMix

  init(seed: UInt64) {
    random = SplitMix(state: seed)
  }

  func run(recordings: Int, images: Int) throws {
    var cuts = 0
    var wrong = 0
    for _ in 0..<recordings {
      let recorded = try FaultedIngest(journal: true)
      let outcome = try recorded.run()
      #expect(outcome.status == 1, "\(outcome.err)")
      let operations = try Journal(recorded.folder.path + "/journal").operations
      #expect(operations.count > 100)
      for _ in 0..<images {
        cuts += 1
        wrong += try cut(recorded, operations)
      }
    }
    Soak.row("the power is cut", tries: cuts, failures: wrong)
  }

  private func cut(_ recorded: FaultedIngest, _ operations: [Journal.Operation]) throws -> Int {
    let moment = Int.random(in: 0...operations.count, using: &random)
    var disk = Disk(fileSyncsCarryNames: Bool.random(using: &random))
    for operation in operations.prefix(moment) { disk.apply(operation) }
    let after = try FaultedIngest(like: recorded, told: disk.told)
    try disk.image(in: after.folder.path + "/var", &random)
    return try after.finish("the power is cut after \(moment) of \(operations.count) steps")
  }
}
