import LedgerPort
import Pipeline
import SQLite

// Attachments that were taken out of others, and whose content is lost.
extension SQLiteLedger {
  private enum Text {
    /// One that waits to be worked on, or has failed since it could not be read, and has nothing to be read from.
    static let lacksContent: StaticString = """
      SELECT kept IS NULL AND (status = 'failed' AND reason_stage = 'source'
        OR status = 'queued' AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.attachment_id = attachments.id))
      FROM attachments WHERE key = ?1
      """
    static let isQueued: StaticString = "SELECT status = 'queued' FROM attachments WHERE key = ?1"
    static let giveContent: StaticString =
      "UPDATE attachments SET source = ?2, source_modified = ?3 WHERE key = ?1"
    static let sender: StaticString = """
      SELECT m.sender_id FROM attachments a JOIN messages m USING (conversation_id, message_id) WHERE a.key = ?1
      """
    static let fail: StaticString = """
      UPDATE attachments SET status = 'failed', reason_stage = ?2, reason_code = ?3, reason_message = ?4, finished_at = ?5
      WHERE key = ?1
      """
    static let lostChild: StaticString = """
      SELECT a.key, a.status, a.parent, p.status FROM attachments a JOIN attachments p ON p.key = a.parent WHERE a.id = ?1
      """
  }

  /// Whether it has nothing to be read from, and waits to be read or has failed since it could not be.
  func lacksContent(_ key: Int64) throws -> Bool { try tells(Text.lacksContent, key) }

  private func tells(_ text: StaticString, _ key: Int64) throws -> Bool {
    try statement(text).first(.integer(key)) { $0.integer(0) == 1 } ?? false
  }

  private static let lostContent = Reason(
    stage: "source", code: "missing", message: "its object is lost; what it was taken out of has it, if any")

  /// Ends one that is queued, without telling.
  private func fail(_ key: Int64, _ reason: Reason, _ tally: inout ExchangeTally) throws {
    try remove(JobKey(.attachment, key))
    try statement(Text.fail).run(
      .integer(key), .text(reason.stage), .text(reason.code), .text(reason.message), .integer(tally.now))
    try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(-1), .integer(0))
    try statement(SQL.addToCount).run(.text(Status.failed.rawValue), .integer(1), .integer(0))
    try tellParent(of: key, change: -1, &tally)
  }

  /// The content of one that came out of its parent before was lost, and is here again.
  func give(
    _ child: NewChild, to key: Int64, _ id: String, _ status: String, _ tally: inout ExchangeTally
  ) throws {
    try forgetUpload(ofAttachment: id, &tally)
    try statement(Text.giveContent).run(.integer(key), .blob(child.source), .integer(child.modified))
    let sender = try statement(Text.sender).first(.integer(key)) { $0.text(0) } ?? ""
    try addUpload(child, id, sender: sender, tally.now)
    if status != Status.queued.rawValue { try queueAgain(key, &tally) }
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
      var tally = ExchangeTally(
        now: clock.now(), time: clock.steady(), token: Token(holder: holder, number: 0), newborn: Newborn([]))
      try forgetUpload(ofAttachment: id, &tally)
      if child.status != Status.queued.rawValue {
        try queueAgain(child.key, &tally)
      } else if try isExpanded(child.key) {
        try beginAgain(child.key, &tally)
      }
      try fail(child.key, Self.lostContent, &tally)
      if child.parentStatus == Status.completed.rawValue {
        try queueAgain(child.parent, &tally, keepsObject: true)
      } else if try isQueuedAgain && isExpanded(child.parent) {
        try beginAgain(child.parent, &tally)
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
      if try tells(Text.isQueued, parent) { return true }
      key = parent
    }
    return false
  }
}
