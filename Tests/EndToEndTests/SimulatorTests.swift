import Foundation
import Testing

/// The scheduler, on the real ledger, lives through crashes, power losses and bad weather in virtual time. See Tests/Simulator.
@Suite(.serialized)
struct SimulatorTests {
  @Test func noScenarioBreaksARule() throws {
    try Self.expectNoFailure(["--kept", Self.kept, "--first", "1", "--seeds", "200"])
  }

  @Test func aSeedIsTheSameInEachProcess() throws {
    let runs = try (0..<2).map { _ in try Self.run(["--first", "1", "--seeds", "15"]) }
    let traces = runs.map { $0.split(separator: " ").last ?? "" }
    #expect(traces[0] == traces[1], "\(runs)")
  }

  static let kept = SluiceCommand.projectFolder + "/Tests/Simulator/kept.txt"

  /// Runs the simulator. Returns how many scenarios it ran, and how many broke a rule: those are recorded as issues.
  @discardableResult
  static func expectNoFailure(_ words: [String]) throws -> (tries: Int, failures: Int) {
    let said = try run(words)
    let sum = said.split(separator: "\n").last.map { $0.split(separator: " ").compactMap { Int($0) } } ?? []
    let (tries, failures) = (sum.first ?? 0, sum.count >= 3 ? sum[2] : 1)
    #expect(tries > 0 && failures == 0, "\(said)")
    return (tries, failures)
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
    let sum = try SimulatorTests.expectNoFailure(["--first", "\(first)", "--seeds", "10000"])
    Soak.row("a simulated scenario of six crashes", tries: sum.tries, failures: sum.failures)
  }
}
