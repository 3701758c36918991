import Foundation
import Platform
import Testing

/// Kills the coordinator or a worker before and after each of its file, socket and process calls; then again
/// in the run that recovers, three levels deep. `make soak` kills at each of them, `make test` at every eighth.
@Suite(.serialized)
struct KillAtEveryStepTests {
  @Test func everyEighthStepIsKilledOnce() throws { try KillingSteps(seed: 1).run(times: 1, every: 8) }

  @Test func someStepsOfDownloadsAreKilled() throws {
    try KillingSteps(seed: 3, ofLinks: true).run(times: 1, every: 10)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct KillAtEveryStepSoakTests {
  @Test(arguments: [false, true])
  func everyStepIsKilledTenTimes(ofLinks: Bool) throws {
    try KillingSteps(seed: 2, ofLinks: ofLinks).run(times: 10)
  }
}

private final class KillingSteps {
  private var random: SplitMix
  private var points: [String: Int] = [:]
  /// How often a process was killed at each step.
  private var hits: [String: Int] = [:]
  /// By depth: kills of an ingest, of the run that recovers from it, of the run that recovers from that.
  private var kills = [Int](repeating: 0, count: 4)
  private var wrong = [Int](repeating: 0, count: 4)

  private let isOfLinks: Bool

  init(seed: UInt64, ofLinks isOfLinks: Bool = false) {
    random = SplitMix(state: seed)
    self.isOfLinks = isOfLinks
  }

  private func make() throws -> FaultedIngest { try isOfLinks ? FaultedIngest(links: ()) : FaultedIngest() }

  /// - Parameter every: of so many steps one is taken.
  func run(times: Int, every: Int = 1) throws {
    // The number of steps varies with the timing: several runs see more.
    for _ in 0..<3 {
      for point in try look() { points[point.name] = max(points[point.name] ?? 0, point.count) }
    }
    #expect(points.count > 40, "\(points.keys.sorted())")
    var missed: [String] = []
    let all = points.sorted(by: { $0.key < $1.key })
    for (name, count) in stride(from: 0, to: all.count, by: every).map({ all[$0] }) {
      for action in [FaultLibrary.Action.killBefore, .killAfter] {
        let before = hits[name] ?? 0
        for time in 0..<times {
          // Spread over the occurrences, as far as the number of tries allows.
          let step = max(count / times, 1)
          try kill(at: name, 1 + (time * step + Int.random(in: 0..<step, using: &random)) % count, action)
        }
        if hits[name] ?? 0 == before { missed.append(name) }
      }
      // The first occurrence is reached more often than later ones.
      for _ in 0..<times * 2 where hits[name] ?? 0 < times { try kill(at: name, 1, .killBefore) }
      if hits[name] ?? 0 < times { missed.append(name) }
    }
    // Steps that depend on chance, such as a message that arrived at that moment.
    #expect(missed.count <= points.count / every / 5 + (every > 1 ? 2 : 0), "too seldom hit: \(missed)")
    for depth in kills.indices {
      let place = depth == 0 ? "" : ", \(depth) deep in the recovery"
      Soak.row(
        "kill -9 at a step\(isOfLinks ? " of downloads" : "")" + place, tries: kills[depth],
        failures: wrong[depth])
    }
  }

  /// Kills an ingest at a step, then the recovery at a random step, and then its recovery.
  private func kill(at name: String, _ nth: Int, _ action: FaultLibrary.Action) throws {
    let ingest = try make()
    var story = ""
    var deepest = 0
    var (match, nth) = (name, nth)
    for depth in kills.indices {
      story += "\(action) \(match) #\(nth); "
      try ingest.run(FaultLibrary.Fault(match: match, nth: nth, action: action))
      if ingest.faults.hasFired {
        kills[depth] += 1
        deepest = depth
        hits[match, default: 0] += 1
      }
      guard let next = points.keys.sorted().randomElement(using: &random) else { break }
      match = next
      nth = Int.random(in: 1...max((points[next] ?? 1) / 2, 1), using: &random)
    }
    wrong[deepest] += try ingest.finish(story)
  }

  private func look() throws -> [FaultLibrary.Point] {
    let ingest = try make()
    // A fault that never occurs, so that the library is loaded and counts.
    try ingest.run(.init(match: "nothing", nth: 1, action: .killBefore))
    return ingest.faults.points
  }
}
