import LedgerPort
import LedgerRules
import Pipeline
import SQLite

// Attachments that were taken out of others, and whose content is lost.
extension SQLiteLedger {
  private enum Text {
    static let fail: StaticString = """
      UPDATE attachments SET status = 'failed', reason_stage = ?2, reason_code = ?3, reason_message = ?4, finished_at = ?5
      WHERE key = ?1
      """
    static let lostChild: StaticString = """
      SELECT a.key, a.status, a.parent, p.status FROM attachments a JOIN attachments p ON p.key = a.parent WHERE a.id = ?1
      """
  }

  private static let lostContent = Reason(
    stage: "source", code: "missing", message: "its object is lost; what it was taken out of has it, if any")

  /// Ends one that is queued, without telling.
  private func fail(_ key: Int64, _ reason: Reason, _ tally: inout ExchangeTally) throws {
    try removeJob(JobKey(.attachment, key))
    try statement(Text.fail).run(
      .integer(key), .text(reason.stage), .text(reason.code), .text(reason.message), .integer(tally.now))
    try count(.queued, -1, bytes: 0)
    try count(.failed, 1, bytes: 0)
    var rows = self
    try rows.tellParent(of: key, change: -1, &tally)
  }

  /// Queues what an attachment was taken out of whose content is lost. Until that has given it its content again it has failed, and
  /// that is told to none: queued, it would be tried before that is there.
  public func requeueWithParent(_ id: String) throws(LedgerError) -> Bool {
    try transaction {
      let child = try statement(Text.lostChild).first(.text(id)) {
        (key: $0.integer(0), status: $0.text(1), parent: $0.integer(2), parentStatus: $0.text(3))
      }
      guard let child else { return false }
      // Else its parent waits for its own content.
      let isQueuedAgain = [Status.queued, .completed].map(\.rawValue).contains(child.parentStatus)
      guard try isQueuedAgain || comesAgain(child.parent) else { return false }
      var (rows, tally) = (self, tally())
      _ = try removeUploads(ofAttachment: id)
      if child.status != Status.queued.rawValue {
        try rows.queueAgain(child.key, &tally)
      } else if try isExpanded(child.key) {
        try rows.beginAgain(child.key, &tally)
      }
      try fail(child.key, Self.lostContent, &tally)
      if child.parentStatus == Status.completed.rawValue {
        try rows.queueAgain(child.parent, keepsObject: true, &tally)
      } else if try isQueuedAgain && isExpanded(child.parent) {
        try rows.beginAgain(child.parent, &tally)
      }
      _ = try advance(tally.changed, at: tally.time, tally.now)
      lastChange += 1
      return true
    }
  }

  /// Whether one is to be given its content again: something above it is queued, and all between wait as it does.
  private func comesAgain(_ key: Int64) throws -> Bool {
    var key = key
    for _ in 0..<Self.mostLevels {
      guard try lacksContent(key), let parent = try parent(of: key) else { return false }
      if try attachment(parent)?.status == .queued { return true }
      key = parent
    }
    return false
  }
}
