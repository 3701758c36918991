import LedgerPort
import Pipeline
import Platform
import Scheduler
import Synchronization

/// How attachments ended since the start, and how long their stages took, for those who watch over the server.
final class EndTally: Sendable {
  struct Counts: Sendable {
    /// Why attachments ended so.
    struct End: Sendable, Hashable, Comparable {
      var status: Status
      /// The stage and the code; empty: it was completed.
      var stage: String
      var code: String

      static func < (one: End, other: End) -> Bool {
        (one.status.rawValue, one.stage, one.code) < (other.status.rawValue, other.stage, other.code)
      }
    }

    /// What came of checks.
    struct Judgement: Sendable, Hashable, Comparable {
      /// Where it was asked for: `http`, or the address of a door for clients of ClamAV's daemon.
      var door: String
      var verdict: CheckVerdict
      /// The stage and the code; empty: it is clean.
      var stage: String
      var code: String

      static func < (one: Judgement, other: Judgement) -> Bool {
        (one.door, one.verdict.rawValue, one.stage, one.code)
          < (other.door, other.verdict.rawValue, other.stage, other.code)
      }
    }

    var ends: [End: Int64] = [:]
    var judgements: [Judgement: Int64] = [:]
    var stages: [String: Durations] = [:]
  }

  /// How long something took, as a histogram of Prometheus.
  struct Durations: Sendable {
    /// Seconds; each counts what took no longer.
    static let bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]

    private(set) var counts = [Int64](repeating: 0, count: bounds.count)
    private(set) var count: Int64 = 0
    private(set) var seconds = 0.0

    mutating func add(_ seconds: Double) {
      count += 1
      self.seconds += seconds
      for index in Self.bounds.indices where seconds <= Self.bounds[index] { counts[index] += 1 }
    }
  }

  private let state = Mutex(Counts())

  /// Codes and stages of plugins; what there are more is counted under one name, so that none can fill the memory.
  private static let mostNames = 500
  private static let others = "others"

  var counts: Counts { state.withLock { $0 } }

  func add(_ result: CheckResult, door: String) {
    var judgement = Counts.Judgement(
      door: door, verdict: result.verdict, stage: result.reason?.stage ?? "", code: result.reason?.code ?? "")
    state.withLock { counts in
      if counts.judgements[judgement] == nil && counts.judgements.count >= Self.mostNames {
        judgement.code = Self.others
      }
      counts.judgements[judgement, default: 0] += 1
    }
  }

  func add(_ record: AttachmentRecord) {
    let reason = record.outcome.reason
    var end = Counts.End(status: record.outcome.status, stage: reason?.stage ?? "", code: reason?.code ?? "")
    state.withLock { counts in
      if counts.ends[end] == nil && counts.ends.count >= Self.mostNames { end.code = Self.others }
      counts.ends[end, default: 0] += 1
      for step in record.steps {
        let isKnown = counts.stages[step.stage] != nil || counts.stages.count < Self.mostNames
        counts.stages[isKnown ? step.stage : Self.others, default: Durations()].add(
          Double(step.microseconds) / 1e6)
      }
    }
  }
}
