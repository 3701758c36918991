import LedgerPort
import SQLite

// Deliveries, and the places of what is queued.
extension SQLiteLedger {
  private static let columns = """
    SELECT d.key, d.id, a.id, e.type, d.channel, d.recipient, d.status, d.reason_code, d.reason_message, d.finished_at,
      j.attempts, j.state = 'scheduled', j.due_at
    """
  private static let joined = """
    JOIN events e ON e.key = d.event_key JOIN attachments a ON a.key = e.attachment_key
      LEFT JOIN jobs j ON j.kind = 'delivery' AND j.subject = d.key
    """
  private static let ofAttachment = SQLText(
    """
    \(columns) FROM attachments a JOIN events e ON e.attachment_key = a.key JOIN deliveries d ON d.event_key = e.key
      LEFT JOIN jobs j ON j.kind = 'delivery' AND j.subject = d.key
    WHERE a.key = ?1 ORDER BY d.key
    """)
  /// The candidates of a page, by the index that has fewest; then of each whether it answers.
  private static let dead = SQLText(
    "\(columns) FROM deliveries d INDEXED BY deliveries_dead \(joined) WHERE d.status = 'dead' AND d.key > ?1 ORDER BY d.key LIMIT ?2"
  )
  private static let pending = SQLText(
    """
    \(columns) FROM jobs j CROSS JOIN deliveries d ON d.key = j.subject JOIN events e ON e.key = d.event_key
      JOIN attachments a ON a.key = e.attachment_key
    WHERE j.kind = 'delivery' AND j.subject > ?1 ORDER BY j.subject LIMIT ?2
    """)
  private static let any = SQLText(
    "\(columns) FROM deliveries d \(joined) WHERE d.key > ?1 ORDER BY d.key LIMIT ?2")

  public func deliveries(
    _ filter: DeliveryFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<DeliveryRecord> {
    guard var last = mark.map({ Int64($0.text) }) ?? 0 else {
      throw LedgerError(
        .other, "\(path): '\(mark?.text ?? "")' is no mark of a page; ask for the first page again")
    }
    return try reading {
      let sql =
        filter.statuses == [.dead] ? Self.dead : filter.statuses == [.pending] ? Self.pending : Self.any
      var page = Page<DeliveryRecord>([], next: nil)
      if limit <= 0 { return page }
      var looked = 0
      var isWhole = false
      let now = clock.steady()
      // A few at a time: most pages are full soon.
      while !isWhole, page.rows.count < limit, looked < candidates.deliveries {
        let chunk = max(limit, min(candidates.deliveries, 500))
        var count = 0
        try statement(sql).rows(.integer(last), .integer(Int64(chunk))) { row in
          count += 1
          if page.rows.count == limit { return }
          last = row.integer(0)
          let record = delivery(row, now)
          if filter.matches(record) { page.rows.append(record) }
        }
        looked += count
        isWhole = count < chunk && page.rows.count < limit
      }
      if !isWhole { page.next = PageMark(String(last)) }
      return page
    }
  }

  public func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord] {
    try reading {
      var deliveries: [DeliveryRecord] = []
      let now = clock.steady()
      try statement(Self.ofAttachment).rows(.integer(key)) { deliveries.append(delivery($0, now)) }
      return deliveries
    }
  }

  private static let changed = SQLText(
    """
    \(columns) FROM ledger l JOIN changes c JOIN json_each(c.subjects, '$.delivery') s JOIN deliveries d ON d.key = s.value
      \(joined)
    WHERE l.history = ?1 AND c.number = ?2 ORDER BY s.key
    """)

  public func deliveries(changedAt position: Position) throws(LedgerError) -> [DeliveryRecord] {
    try reading {
      var deliveries: [DeliveryRecord] = []
      let now = clock.steady()
      try statement(Self.changed).rows(.integer(position.history), .integer(position.number)) {
        deliveries.append(delivery($0, now))
      }
      return deliveries
    }
  }

  private func delivery(_ row: borrowing Row, _ now: Int64) -> DeliveryRecord {
    let status = DeliveryStatus(rawValue: row.text(6)) ?? .pending
    let due = row.integer(11) == 1 ? max(row.integer(12) - now, 0) : 0
    return DeliveryRecord(
      key: row.integer(0), id: row.text(1), attachmentId: row.text(2), type: row.text(3),
      channel: row.text(4), recipient: row.text(5), status: status, code: row.optionalText(7),
      reason: row.optionalText(8), finishedAt: row.optionalInteger(9), attempts: Int(row.integer(10)),
      nextDue: status == .pending ? due : nil)
  }

  public func place(of key: Int64) throws(LedgerError) -> QueuePlace? {
    try reading {
      let now = clock.steady()
      return try statement(
        """
        SELECT state, due_at, priority, attempts, cancelled FROM jobs WHERE kind = 'attachment' AND subject = ?1
        """
      ).first(.integer(key)) { row in
        let state = QueuePlace.State(rawValue: row.text(0)) ?? .due
        return QueuePlace(
          state: state, nextDue: state == .scheduled ? max(row.integer(1) - now, 0) : 0,
          priority: row.integer(2), attempts: Int(row.integer(3)), cancellation: row.optionalText(4))
      }
    }
  }

  public func tombstones(idPrefix: String) throws(LedgerError) -> [Tombstone] {
    try reading {
      var found: [Tombstone] = []
      try statement(
        "SELECT id, deleted_by, deleted_at FROM tombstones WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 10"
      ).rows(.text(idPrefix), .text(idPrefix + "\u{7F}")) { row in
        found.append(Tombstone(id: row.text(0), deletedBy: row.text(1), deletedAt: row.integer(2)))
      }
      return found
    }
  }

  public func tombstoneCount() throws(LedgerError) -> Int {
    try reading { try statement("SELECT count(*) FROM tombstones").first { Int($0.integer(0)) } ?? 0 }
  }
}
