import Foundation
import Platform
import Testing

/// Two to four coordinators on the model, killed, stopped, fenced and misled, judged by a witness.
struct CrowdTests {
  private static let steps = 1400
  private static let isSoak = ProcessInfo.processInfo.environment["SLUICE_SOAK"] != nil
  /// In how many ledgers.
  private static let rounds = isSoak ? 1000 : 20

  @Test func nothingIsLostAndNothingIsDoneTwice() throws {
    let begin = Clock.monotonic()
    var exchanges = 0
    var outcomes: [String: Int] = [:]
    for seed in 1...UInt64(Self.rounds) {
      let crowd = try Crowd(seed)
      for _ in 0..<Self.steps where crowd.witness.faults.isEmpty { try crowd.step() }
      try crowd.judge(isFinished: false)
      try crowd.finish()
      try crowd.judge(isFinished: true)
      exchanges += crowd.exchanges
      outcomes.merge(crowd.witness.outcomes, uniquingKeysWith: +)
      guard crowd.witness.faults.isEmpty else {
        Issue.record("seed \(seed): \(crowd.witness.faults.joined(separator: "\n"))")
        break
      }
    }
    for outcome in ["counted", "leaseLost", "pathTaken"] {
      #expect(outcomes[outcome, default: 0] > 50, "\(outcomes)")
    }
    if !Self.isSoak { return }
    let seconds = Double(Clock.monotonic() - begin) / 1e9
    print(
      "\(exchanges) exchanges in \(Int(seconds)) s, \(Int(Double(exchanges) / seconds)) a second: \(outcomes)"
    )
  }
}
