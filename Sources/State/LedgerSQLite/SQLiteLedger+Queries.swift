import LedgerPort
import Pipeline
import Platform
import SQLite

extension SQLiteLedger: LedgerQueries {
  public func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    if !connection.isOutsideTransaction { return try body() }
    try statement("BEGIN").run()
    defer {
      // One that only read can be given up as well as committed. Were it left open, the ledger would stay as it was for this reader:
      // a token that is revoked would be good for ever.
      try? statement("COMMIT").run()
      if !connection.isOutsideTransaction { try? statement("ROLLBACK").run() }
    }
    return try body()
  }

  /// SQLite counts commits of other connections (https://www.sqlite.org/pragma.html#pragma_data_version), and this one only reads.
  public func generation() throws(LedgerError) -> Int64 {
    try reading { try statement("PRAGMA data_version").first { $0.integer(0) } ?? 0 }
  }

  /// An attachment with the steps of its last attempt.
  ///
  /// - Parameter hasDerived: whether any attachment has derived objects.
  func record(of key: Int64, hasDerived: Bool) throws -> AttachmentRecord? {
    guard var record = try statement(Query.byKey).first(.integer(key), make: { AttachmentRecord($0) }) else {
      return nil
    }
    record.steps = try lastSteps(of: key)
    if hasDerived { try fillDerived(&record) }
    return record
  }

  /// A page of rows by key; a mark is the last key.
  func page<Row>(
    after mark: PageMark?, _ limit: Int, _ read: (_ after: Int64) throws -> (rows: [Row], last: Int64?)
  ) throws(LedgerError) -> Page<Row> {
    guard let after = mark.map({ Int64($0.text) }) ?? 0 else {
      throw LedgerError(
        .other, "\(path): '\(mark?.text ?? "")' is no mark of a page; ask for the first page again")
    }
    return try reading {
      let (rows, last) = try read(after)
      return Page(rows, next: rows.count < limit ? nil : last.map { PageMark(String($0)) })
    }
  }

  public func otherHolders() throws(LedgerError) -> Set<Int64> {
    try reading {
      var others: Set<Int64> = []
      try statement("SELECT id FROM coordinators WHERE id <> ?1").rows(.integer(holder)) {
        others.insert($0.integer(0))
      }
      return others
    }
  }

  public func attachments(idPrefix: String) throws(LedgerError) -> [AttachmentRecord] {
    try reading {
      var found: [AttachmentRecord] = []
      try statement(Query.byId).rows(.text(idPrefix), .text(idPrefix + "\u{7F}")) {
        found.append(AttachmentRecord($0))
      }
      for index in found.indices {
        found[index].steps = try lastSteps(of: found[index].key)
        try fillDerived(&found[index])
      }
      return found
    }
  }

  public func path(ofCompleted id: String) throws(LedgerError) -> String? {
    try reading {
      try statement("SELECT url FROM attachments WHERE id = ?1 AND status = 'completed'").first(.text(id)) {
        $0.optionalText(0)
      } ?? nil
    }
  }

  public func attempts(of key: Int64) throws(LedgerError) -> [AttemptRecord] {
    try reading {
      var attempts: [AttemptRecord] = []
      try statement(Query.attempts).rows(.integer(key)) { row in
        for step in try steps(row, of: key) {
          attempts.append(
            AttemptRecord(number: Int(row.integer(1)), step: step, recordedAt: row.integer(2)))
        }
      }
      return attempts
    }
  }

  public func status() throws(LedgerError) -> LedgerStatus {
    try reading {
      var status = LedgerStatus()
      try statement("SELECT status, sum(attachments), sum(bytes) FROM counts GROUP BY status").rows { row in
        guard let name = Status(rawValue: row.text(0)) else { return }
        status.attachments.append((name, row.integer(1), row.integer(2)))
      }
      var lanes: [Int64: LedgerStatus.Lane] = [:]
      try statement("SELECT key, kind, name, host FROM lanes").rows { row in
        guard let kind = LaneName.Kind(rawValue: row.text(1)) else { return }
        let host = row.text(3)
        lanes[row.integer(0)] = .init(LaneName(kind, row.text(2), host: host.isEmpty ? nil : host))
      }
      let now = clock.steady()
      let queued = Int(status.attachments.first { $0.status == .queued }?.count ?? 0)
      for (key, lane) in lanes { lanes[key] = try fill(lane, key, now, queued: queued) }
      status.lanes = lanes.values.filter { $0.jobs > 0 || $0.pause != nil }
        .sorted { $0.name.description < $1.name.description }
      status.deadLetters =
        try statement("SELECT count(*) FROM deliveries WHERE status = 'dead'").first { $0.integer(0) } ?? 0
      status.failedDownloads = try statement(SQL.failedTransfers).first { $0.integer(0) } ?? 0
      status.oldestQueuedAt = try statement(Query.oldest).first { $0.optionalInteger(0) } ?? nil
      return status
    }
  }

  private func fill(
    _ lane: LedgerStatus.Lane, _ key: Int64, _ now: Int64, queued: Int
  ) throws -> LedgerStatus.Lane {
    var lane = lane
    let value = Statement.Value.integer(key)
    func count(_ sql: StaticString) throws -> Int {
      try statement(sql).first(value) { Int($0.integer(0)) } ?? 0
    }
    lane.scheduled = try count("SELECT count(*) FROM jobs WHERE state = 'scheduled' AND lane = ?1")
    lane.leased = try count("SELECT count(*) FROM jobs WHERE state = 'leased' AND lane = ?1")
    // Each queued attachment has a job, and there may be millions: those that are neither leased nor scheduled, and wait for no link,
    // are due.
    let waiting = lane.name == .attachments ? try countWaiting(SQL.waitingAttachments) : 0
    if lane.name == .downloads { lane.notPrefetched = try countWaiting(SQL.notPrefetched) }
    lane.due =
      lane.name == .attachments
      ? max(queued - lane.scheduled - lane.leased - waiting, 0)
      : try count("SELECT count(*) FROM jobs WHERE state = 'due' AND lane = ?1")
    lane.nextDue =
      try statement(SQL.nextDue).first(value) { $0.optionalInteger(0) }.map { $0.map { max($0, now) - now } }
      ?? nil
    lane.pause = try pauses(of: key).first
    return lane
  }

  private func countWaiting(_ sql: SQLText) throws -> Int {
    try statement(sql).first { Int($0.integer(0)) } ?? 0
  }

  func lastSteps(of key: Int64) throws -> [Step] {
    var last: [Step] = []
    try statement(Query.lastSteps).rows(.integer(key)) { last = try steps($0, of: key) }
    return last
  }

  private func steps(_ row: borrowing Row, of key: Int64) throws(LedgerError) -> [Step] {
    guard let steps = Step.read(said: row.text(0)) else {
      throw LedgerError(
        .damaged, "\(path): what was said of attachment \(key) is damaged; \(LedgerError.restore)")
    }
    return steps
  }

  /// The statements that read.
  private enum Query {
    static let columns = """
      SELECT \(AttachmentRecord.columnList) FROM attachments a JOIN messages m USING (conversation_id, message_id)
      """
    static let byKey = SQLText(columns + " WHERE a.key = ?1")
    static let byId = SQLText(columns + " WHERE a.id >= ?1 AND a.id < ?2 ORDER BY a.id LIMIT 10")
    static let attempts: StaticString =
      "SELECT said, number, recorded_at FROM attempts WHERE attachment_key = ?1 ORDER BY number"
    static let lastSteps: StaticString =
      "SELECT said FROM attempts WHERE attachment_key = ?1 ORDER BY number DESC LIMIT 1"
    /// The first job of an attachment is that of the oldest, unless one was queued again.
    static let oldest: StaticString = """
      SELECT created_at FROM attachments WHERE key = (SELECT min(subject) FROM jobs WHERE kind = 'attachment')
      """
  }
}
