import Foundation
import Platform
import Synchronization
import Testing

/// Every command in random surroundings: it ends in time, with a documented exit code and a helpful message,
/// leaves no process, and keeps what is on record.
///
/// `SLUICE_ENVIRONMENT=SEED` runs one environment, `SLUICE_ENVIRONMENT=FIRST-LAST` a range.
@Suite struct RandomEnvironmentTests {
  @Test func commandsEndWellInEnvironmentsDrawnAtRandom() throws {
    try RandomEnvironments.run(RandomEnvironments.chosen ?? 1...120)
  }

  /// All rules hold without oddities, so a failure is due to the surroundings.
  @Test func everyCommandEndsWellWhereNothingIsOdd() throws {
    try RandomEnvironments.run(OddCommand.plain.map(OddEnvironment.init(plain:)))
  }

  @Test func anEnvironmentIsTheSameEachTime() {
    for seed in 1...200 as ClosedRange<UInt64> {
      let one = OddEnvironment(seed: seed)
      let other = OddEnvironment(seed: seed)
      #expect(one.description == other.description && one.command.words == other.command.words)
    }
  }
}

/// The longer version, for `make soak`.
@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct RandomEnvironmentSoakTests {
  @Test(arguments: 0..<4)
  func commandsEndWellInAThousandEnvironments(quarter: UInt64) throws {
    let first = 1001 + quarter * 250
    let failures = try RandomEnvironments.run(first...first + 249)
    Soak.row("a command in a random environment", tries: 250, failures: failures)
  }
}

enum RandomEnvironments {
  /// The environments chosen by hand.
  static var chosen: ClosedRange<UInt64>? {
    guard let text = ProcessInfo.processInfo.environment["SLUICE_ENVIRONMENT"] else { return nil }
    let ends = text.split(separator: "-").compactMap { UInt64($0) }
    guard let first = ends.first, let last = ends.last, first <= last else { return nil }
    return first...last
  }

  /// How many run concurrently: most of them wait.
  private static let lanes = 3

  private struct Progress {
    var next = 0
    var failures: [String] = []
  }

  /// Runs the environments of these seeds, and returns how many failed.
  @discardableResult
  static func run(_ seeds: ClosedRange<UInt64>) throws -> Int {
    try run(seeds.map(OddEnvironment.init(seed:)))
  }

  @discardableResult
  static func run(_ environments: [OddEnvironment]) throws -> Int {
    let scene = try OddScene.shared()
    let progress = Mutex(Progress())
    DispatchQueue.concurrentPerform(iterations: lanes) { _ in
      while true {
        let number = progress.withLock { progress in
          defer { progress.next += 1 }
          return progress.next
        }
        if number >= environments.count { return }
        let environment = environments[number]
        if !environment.isPossible { continue }
        var run = OddRun(environment, scene)
        do {
          try run.run()
        } catch {
          progress.withLock { $0.failures.append("\(environment.description): \(error)") }
          continue
        }
        if run.faults.isEmpty { continue }
        progress.withLock { $0.failures.append(run.report) }
        if chosen != nil { print(run.report) }
      }
    }
    let failures = progress.withLock { $0.failures }
    for failure in failures { Issue.record("\(failure)") }
    return failures.count
  }
}
