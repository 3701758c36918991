import LedgerPort
import Pipeline
import Platform

/// What a report says of attachments, counted one at a time in bounded memory.
package struct ReportTally {
  package struct Sum: Sendable {
    package var count: Int64 = 0
    package var bytes: Int64 = 0

    package init(count: Int64 = 0, bytes: Int64 = 0) { (self.count, self.bytes) = (count, bytes) }

    mutating func add(_ size: Int64) {
      count += 1
      bytes = .saturatingSum(bytes, size)
    }
  }

  package struct ReasonKey: Hashable {
    package var status: Status
    package var stage: String
    package var code: String
  }

  /// An attachment among the largest or slowest.
  package struct Extreme {
    package var id: String
    package var value: Int64
  }

  /// So many different types, codes and stages are counted each; the rest together, under ``rest``.
  private static let mostKinds = 500
  package static let rest = "(others)"
  /// How many of the largest and of the slowest are kept.
  private static let mostExtremes = 10

  package private(set) var all = Sum()
  package private(set) var outcomes: [Status: Sum] = [:]
  package private(set) var reasons: [ReasonKey: Int64] = [:]
  package private(set) var types: [String: Sum] = [:]
  package private(set) var stages: [(name: String, microseconds: LogHistogram)] = []
  /// Milliseconds from intake to end.
  package private(set) var latency = LogHistogram()
  package private(set) var intake = IntakeHistogram()
  package private(set) var largest: [Extreme] = []
  /// By microseconds in stages.
  package private(set) var slowest: [Extreme] = []
  private var stored = Sum()
  private var contents = DistinctSizes()

  package init() {}

  package mutating func add(_ attachment: SurveyedAttachment) {
    let size = attachment.sizeBytes ?? 0
    all.add(size)
    outcomes[attachment.status, default: Sum()].add(size)
    if let reason = attachment.reason { add(reason, attachment.status) }
    if let type = attachment.mediaType {
      types[types[type] == nil && types.count >= Self.mostKinds ? Self.rest : type, default: Sum()].add(size)
    }
    intake.add(attachment.createdAt)
    if let end = attachment.finishedAt { latency.add(end &- attachment.createdAt) }
    if let object = attachment.object {
      stored.add(size)
      contents.add(hash: object, size: size)
    }
    var total: Int64 = 0
    for time in attachment.times {
      add(time)
      total = .saturatingSum(total, time.microseconds)
    }
    Self.keep(Extreme(id: attachment.id, value: size), in: &largest)
    Self.keep(Extreme(id: attachment.id, value: total), in: &slowest)
  }

  private mutating func add(_ reason: SurveyedAttachment.StageCode, _ status: Status) {
    var key = ReasonKey(status: status, stage: reason.stage, code: reason.code)
    if reasons[key] == nil && reasons.count >= Self.mostKinds {
      key = ReasonKey(status: status, stage: Self.rest, code: Self.rest)
    }
    reasons[key, default: 0] += 1
  }

  private mutating func add(_ time: SurveyedAttachment.StageTime) {
    // A pipeline has a few stages: to hash a name would cost more.
    if let index = stages.firstIndex(where: { $0.name == time.stage }) {
      stages[index].microseconds.add(time.microseconds)
    } else if stages.count < Self.mostKinds {
      stages.append((time.stage, LogHistogram()))
      stages[stages.count - 1].microseconds.add(time.microseconds)
    }
  }

  private static func keep(_ extreme: Extreme, in list: inout [Extreme]) {
    if extreme.value <= 0 || list.count == mostExtremes && list[list.count - 1].value >= extreme.value {
      return
    }
    list.insert(extreme, at: list.firstIndex { $0.value < extreme.value } ?? list.count)
    if list.count > mostExtremes { list.removeLast() }
  }

  // MARK: What follows

  /// Attachments whose content another one of these had stored already, and the bytes that were not stored again.
  package var duplicates: (sum: Sum, isExact: Bool) {
    (
      Sum(count: max(stored.count - contents.count, 0), bytes: max(stored.bytes &- contents.size, 0)),
      contents.isExact
    )
  }

  package var reasonsByCount: [(key: ReasonKey, value: Int64)] {
    reasons.sorted {
      ($1.value, $0.key.stage, $0.key.code, $0.key.status.rawValue)
        < ($0.value, $1.key.stage, $1.key.code, $1.key.status.rawValue)
    }
  }

  package var typesByCount: [(key: String, value: Sum)] {
    types.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
  }
}
