import FrontWire

/// How requests went, since the start.
struct RequestCounts: Sendable {
  /// By the status of the answer; 0: there was none.
  var byStatus: [Int: Int64] = [:]
  var seconds = 0.0
  var received: Int64 = 0
  var sent: Int64 = 0

  mutating func add(_ end: FrontEnd) {
    byStatus[end.status, default: 0] += 1
    seconds += Double(end.microseconds) / 1e6
    // What the process says is added up without a look at it.
    received = Self.sum(received, end.received)
    sent = Self.sum(sent, end.sent)
  }

  private static func sum(_ one: Int64, _ other: Int64) -> Int64 {
    let (sum, isOver) = one.addingReportingOverflow(other)
    return isOver ? .max : sum
  }
}
