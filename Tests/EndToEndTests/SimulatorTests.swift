import Foundation
import Testing

/// The scheduler, on the real ledger, lives through crashes, power losses and bad weather in virtual time. See Tests/Simulator.
@Suite(.serialized)
struct SimulatorTests {
  @Test func noScenarioBreaksARule() throws {
    try Self.expectNoFailure(["--kept", Self.kept, "--first", "1", "--seeds", "100000", "--seconds", "45"])
  }

  @Test func aSeedIsTheSameInEachProcess() throws {
    let runs = try (0..<2).map { _ in try Self.run(["--first", "1", "--seeds", "40"]) }
    let traces = runs.map { $0.split(separator: " ").last ?? "" }
    #expect(traces[0] == traces[1], "\(runs)")
  }

  static let kept = SluiceCommand.projectFolder + "/Tests/Simulator/kept.txt"

  /// Runs the simulator, and expects its last line to tell of no failure.
  static func expectNoFailure(_ words: [String]) throws {
    let said = try run(words)
    #expect(said.contains(" 0 failures,"), "\(said)")
  }

  private static func run(_ words: [String]) throws -> String {
    let folder = try TemporaryFolder()
    let program = SluiceCommand.folder + "/sluice-simulator"
    return try SluiceCommand.run(words, in: folder, program: program).out
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct SimulatorSoakTests {
  @Test func tenThousandScenariosBreakNoRule() throws {
    let first = Int.random(in: 1_000_000...1_000_000_000)
    try SimulatorTests.expectNoFailure(["--first", "\(first)", "--seeds", "10000"])
    Soak.row("a simulated scenario", tries: 10_000, failures: 0)
  }
}
