import Pipeline
import Platform
import SQLite

/// One try of one stage, as recorded.
public struct AttemptRecord: Sendable {
  public var number: Int
  public var step: Step
  public var recordedAt: Int64
}

/// One delivery, as recorded.
public struct DeliveryRecord: Sendable {
  public var id: String
  public var type: String
  public var channel: String
  public var recipient: String
  public var status: String
  public var reason: String?
  public var finishedAt: Int64?
}

/// The queue and the counts, for `status`.
public struct LedgerStatus: Sendable {
  public struct Lane: Sendable {
    public var name: String
    public var due = 0
    public var scheduled = 0
    public var leased = 0
    /// When the next scheduled job is due, in milliseconds since 1970; `nil`: none is scheduled.
    public var nextDue: Int64?
    public var pausedReason: String?
  }

  public var attachments: [(status: Status, count: Int64, bytes: Int64)] = []
  public var lanes: [Lane] = []
  public var deadLetters: Int64 = 0
  /// When the oldest attachment in the queue was taken in.
  public var oldestQueuedAt: Int64?
  public var boot: Int64 = 0
}

extension Ledger {
  /// Passes attachments to the body in order of intake. Read in pages, because a long read transaction would
  /// keep the write-ahead log from being checkpointed.
  public func records(
    statuses: Set<Status> = Set(Status.allCases), each body: (AttachmentRecord) throws -> Bool
  ) throws {
    var after: Int64 = 0
    let isAll = statuses.count == Status.allCases.count
    let wanted = isAll ? "" : JSONWriter.array(of: statuses.map(\.rawValue))
    while true {
      let page = try reading {
        var page: [AttachmentRecord] = []
        try connection.prepare(isAll ? Query.page : Query.pageOfStatuses)
          .rows(.integer(after), .text(wanted)) { page.append(AttachmentRecord($0)) }
        for index in page.indices { page[index].steps = try lastSteps(of: page[index].key) }
        return page
      }
      guard let last = page.last else { return }
      for record in page where try !body(record) { return }
      after = last.key
    }
  }

  /// The attachments whose id begins with this text. Commands accept a shortened id if it is unique.
  public func records(idPrefix: String) throws(LedgerError) -> [AttachmentRecord] {
    try reading {
      var found: [AttachmentRecord] = []
      try connection.prepare(Query.byId).rows(.text(idPrefix), .text(idPrefix + "\u{7F}")) {
        found.append(AttachmentRecord($0))
      }
      for index in found.indices { found[index].steps = try lastSteps(of: found[index].key) }
      return found
    }
  }

  /// The path of the object of a completed attachment; `nil`: it is not completed.
  public func location(ofAttachment id: String) throws(LedgerError) -> String? {
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
        attempts.append(
          AttemptRecord(number: Int(row.integer(0)), step: step(row, 1), recordedAt: row.integer(6)))
      }
      return attempts
    }
  }

  public func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord] {
    try reading {
      var deliveries: [DeliveryRecord] = []
      try statement(Query.deliveries).rows(.integer(key)) { row in
        deliveries.append(
          DeliveryRecord(
            id: row.text(0), type: row.text(1), channel: row.text(2), recipient: row.text(3),
            status: row.text(4),
            reason: row.optionalText(5), finishedAt: row.optionalInteger(6)))
      }
      return deliveries
    }
  }

  public func status() throws(LedgerError) -> LedgerStatus {
    try reading {
      var status = LedgerStatus()
      status.boot = try statement("SELECT boot FROM ledger").first { $0.integer(0) } ?? 0
      try statement("SELECT status, attachments, bytes FROM counts").rows { row in
        guard let name = Status(rawValue: row.text(0)) else { return }
        status.attachments.append((name, row.integer(1), row.integer(2)))
      }
      var lanes: [String: LedgerStatus.Lane] = [:]
      try statement(Query.lanes).rows { row in
        let name = row.text(0)
        var lane = lanes[name] ?? .init(name: name)
        switch row.text(1) {
        case "due": lane.due = Int(row.integer(2))
        case "scheduled":
          lane.scheduled = Int(row.integer(2))
          lane.nextDue = row.integer(3)
        default: lane.leased = Int(row.integer(2))
        }
        lanes[name] = lane
      }
      // Each queued attachment has a job; jobs that are neither leased nor scheduled are due.
      let queued = Int(status.attachments.first { $0.status == .queued }?.count ?? 0)
      let name = Ledger.attachmentLane
      let others = (lanes[name]?.scheduled ?? 0) + (lanes[name]?.leased ?? 0)
      if queued > others { lanes[name, default: .init(name: name)].due = queued - others }
      try statement("SELECT name, paused_reason FROM lanes WHERE paused_at IS NOT NULL").rows { row in
        let name = row.text(0)
        lanes[name, default: .init(name: name)].pausedReason = row.text(1)
      }
      status.lanes = lanes.values.sorted { $0.name < $1.name }
      status.deadLetters =
        try statement("SELECT count(*) FROM deliveries WHERE status = 'dead'").first { $0.integer(0) } ?? 0
      status.oldestQueuedAt = try statement(Query.oldest).first { $0.optionalInteger(0) } ?? nil
      return status
    }
  }

  private func lastSteps(of key: Int64) throws -> [Step] {
    var steps: [Step] = []
    try statement(Query.lastSteps).rows(.integer(key)) { steps.append(step($0, 0)) }
    return steps
  }

  private func step(_ row: borrowing Row, _ first: Int32) -> Step {
    Step(
      stage: row.text(first), verdict: row.text(first + 1), code: row.optionalText(first + 2),
      message: row.optionalText(first + 3), microseconds: row.integer(first + 4))
  }

  /// The statements that read.
  private enum Query {
    static let columns = """
      SELECT \(AttachmentRecord.columnList) FROM attachments a JOIN messages m USING (conversation_id, message_id)
      """
    static let page = columns + " WHERE a.key > ?1 AND ?2 = '' ORDER BY a.key LIMIT 500"
    static let pageOfStatuses =
      columns + " WHERE a.key > ?1 AND a.status IN (SELECT value FROM json_each(?2)) ORDER BY a.key LIMIT 500"
    static let byId = columns + " WHERE a.id >= ?1 AND a.id < ?2 ORDER BY a.id LIMIT 10"
    static let attempts: StaticString = """
      SELECT number, stage, verdict, code, message, microseconds, recorded_at FROM attempts
      WHERE attachment_key = ?1 ORDER BY number, step
      """
    static let lastSteps: StaticString = """
      SELECT stage, verdict, code, message, microseconds FROM attempts
      WHERE attachment_key = ?1 AND number = (SELECT max(number) FROM attempts WHERE attachment_key = ?1) ORDER BY step
      """
    static let deliveries: StaticString = """
      SELECT d.id, e.type, d.channel, d.recipient, d.status, d.reason_message, d.finished_at
      FROM events e JOIN deliveries d ON d.event_key = e.key WHERE e.attachment_key = ?1 ORDER BY d.key
      """
    /// Each part is answered from an index, and none scans the due attachments, of which there may be
    /// millions: their lane sorts before the lanes of channels.
    static let lanes: StaticString = """
      SELECT lane, 'scheduled', count(*), min(due_at) FROM jobs WHERE state = 'scheduled' GROUP BY lane
      UNION ALL SELECT lane, 'leased', count(*), 0 FROM jobs WHERE state = 'leased' GROUP BY lane
      UNION ALL SELECT lane, 'due', count(*), 0 FROM jobs WHERE state = 'due' AND lane > 'attachments' GROUP BY lane
      """
    /// The condition matches the partial index; without it the whole queue would be read.
    static let oldest: StaticString = """
      SELECT created_at FROM attachments
      WHERE key = (SELECT min(attachment_key) FROM jobs WHERE attachment_key IS NOT NULL)
      """
  }
}
