import Foundation
import Platform
import Testing

/// The coordinator or a worker is killed before and after each thing it does to a file, a socket or a process; then again in
/// the run that recovers, up to three deep.
@Suite(.serialized)
struct KillAtEveryStepTests {
  @Test func everyStepIsKilledOnce() throws { try KillingSteps(seed: 1).run(times: 1) }
}

@Suite(
  .serialized, .enabled(if: ProcessInfo.processInfo.environment["SLUICE_SOAK"] != nil, "runs in make soak"))
struct KillAtEveryStepSoakTests {
  @Test func everyStepIsKilledTenTimes() throws { try KillingSteps(seed: 2).run(times: 10) }
}

private final class KillingSteps {
  private var random: SplitMix

  init(seed: UInt64) {
    random = SplitMix(state: seed)
  }

  func run(times: Int) throws {
    var points: [String: Int] = [:]
    // Which step comes how often varies with the timing: several looks see more.
    for _ in 0..<3 {
      for point in try Self.look() { points[point.name] = max(points[point.name] ?? 0, point.count) }
    }
    #expect(points.count > 40, "\(points.keys.sorted())")
    var kills = 0
    var wrong = 0
    var missed: [String] = []
    for (name, count) in points.sorted(by: { $0.key < $1.key }) {
      for action in [FaultLibrary.Action.killBefore, .killAfter] {
        var isHit = false
        for time in 0..<times {
          let ingest = try FaultedIngest()
          var story = ""
          // Each occurrence in turn, as far as the tries go; then the recovery is killed, and its recovery.
          var nth =
            1 + (time * max(count / times, 1) + Int.random(in: 0..<max(count / times, 1), using: &random))
            % count
          var match = name
          for _ in 0..<3 {
            let fault = FaultLibrary.Fault(match: match, nth: nth, action: action)
            story += "\(action) \(match) #\(nth); "
            try ingest.run(fault)
            if ingest.faults.hasFired {
              kills += 1
              if match == name { isHit = true }
            }
            guard let next = points.keys.sorted().randomElement(using: &random) else { break }
            match = next
            nth = Int.random(in: 1...max((points[next] ?? 1) / 2, 1), using: &random)
          }
          wrong += try ingest.finish(story)
        }
        if !isHit { missed.append(name) }
      }
    }
    // Steps that depend on chance, such as a message that came just then.
    #expect(missed.count <= points.count / 5, "never hit: \(missed)")
    let tries = "\(points.count) steps, \(kills) kills"
    print("kill at a step      \(tries.padding(toLength: 36, withPad: " ", startingAt: 0))\(wrong)")
  }

  private static func look() throws -> [FaultLibrary.Point] {
    let ingest = try FaultedIngest()
    // A fault that never comes, so that the library is loaded and counts.
    try ingest.run(.init(match: "nothing", nth: 1, action: .killBefore))
    return ingest.faults.points
  }
}
