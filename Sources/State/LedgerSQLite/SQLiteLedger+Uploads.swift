import LedgerPort
import Pipeline
import Platform
import SQLite

// Files that clients send piece by piece.
extension SQLiteLedger {
  func apply(_ command: UploadCommand, _ tally: inout ExchangeTally) throws -> CommandResult {
    let known = try record(ofUpload: command.id)
    switch command {
    case .begin(let record, let limit):
      if known != nil { return .refused("there is an upload '\(record.id)' already") }
      if let limit, try count(UploadOwner(record.owner, record.role), tally.now) >= limit {
        return .refused("there are \(limit) uploads of this owner's that are not whole")
      }
      try statement("INSERT INTO uploads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL)").run(
        .text(record.id), .text(record.owner), .text(record.role.rawValue), .optional(record.length),
        .text(record.metadata), .optional(record.concat), .integer(tally.now),
        .integer(tally.now &+ max(min(record.expiresAt, 1 << 50), 0)))
      return .done(hasChanged: true)
    case .lengthen(let id, let length):
      guard let known else { return Self.noUpload(id) }
      if known.length == length { return .done(hasChanged: false) }
      if known.length != nil || length < 0 { return .refused("the length of an upload does not change") }
      try statement("UPDATE uploads SET length = ?2 WHERE id = ?1").run(.text(id), .integer(length))
      return .done(hasChanged: true)
    case .finish(let id, let item):
      guard let known else { return Self.noUpload(id) }
      if let attachment = known.attachmentId { return Self.isAttachment(attachment) }
      let report = try takeIn([item], &tally)
      if let attachment = report.outcomes.first?.id {
        try statement("UPDATE uploads SET attachment_id = ?2 WHERE id = ?1").run(.text(id), .text(attachment))
      }
      return .takenIn(report)
    case .end(let id):
      guard let known, try !isNeeded(known) else { return .done(hasChanged: false) }
      return try forget(id, &tally)
    case .giveUp(let id):
      guard let known else { return .done(hasChanged: false) }
      if let attachment = known.attachmentId { return Self.isAttachment(attachment) }
      return try forget(id, &tally)
    }
  }

  private func forget(_ id: String, _ tally: inout ExchangeTally) throws -> CommandResult {
    try statement("DELETE FROM uploads WHERE id = ?1").run(.text(id))
    tally.uploadsToDelete.append(id)
    return .done(hasChanged: true)
  }

  private static func isAttachment(_ id: String) -> CommandResult {
    var report = IntakeReport()
    report.known += 1
    report.outcomes.append(.known(id: id))
    return .takenIn(report)
  }

  /// Whether its file is the content of an attachment that is, or may be, worked on.
  private func isNeeded(_ upload: UploadRecord) throws -> Bool {
    guard let attachment = upload.attachmentId else { return false }
    let status = try statement("SELECT status FROM attachments WHERE id = ?1").first(.text(attachment)) {
      $0.text(0)
    }
    return status.map { $0 != Status.completed.rawValue } ?? false
  }

  private static func noUpload(_ id: String) -> CommandResult { .refused("there is no upload '\(id)'") }

  /// The upload that an attachment came from is forgotten with it.
  func forgetUpload(ofAttachment id: String, _ tally: inout ExchangeTally) throws {
    try statement("DELETE FROM uploads WHERE attachment_id = ?1 RETURNING id").rows(.text(id)) {
      tally.uploadsToDelete.append($0.text(0))
    }
  }

  private func record(ofUpload id: String) throws -> UploadRecord? {
    try statement("SELECT * FROM uploads WHERE id = ?1").first(.text(id)) { UploadRecord($0) }
  }

  public func upload(_ id: String) throws(LedgerError) -> UploadRecord? {
    try reading { try record(ofUpload: id) }
  }

  public func openUploads(of owner: UploadOwner?, at now: Int64) throws(LedgerError) -> Int {
    try reading { try count(owner, now) }
  }

  private func count(_ owner: UploadOwner?, _ now: Int64) throws -> Int {
    let text: StaticString =
      owner == nil
      ? "SELECT count(*) FROM uploads WHERE attachment_id IS NULL AND expires_at > ?1"
      : """
      SELECT count(*) FROM uploads WHERE attachment_id IS NULL AND expires_at > ?1 AND owner = ?2 AND role = ?3
      """
    let statement = try statement(text)
    guard let owner else { return try statement.first(.integer(now)) { Int($0.integer(0)) } ?? 0 }
    return try statement.first(.integer(now), .text(owner.name), .text(owner.role.rawValue)) {
      Int($0.integer(0))
    } ?? 0
  }

  public func openUploads(
    of owner: UploadOwner?, at now: Int64, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<UploadRecord> {
    try reading {
      var rows: [UploadRecord] = []
      try statement(
        """
        SELECT * FROM uploads WHERE attachment_id IS NULL AND expires_at > ?1 AND id > ?2
          AND (?3 IS NULL OR owner = ?3) AND (?4 IS NULL OR role = ?4)
        ORDER BY id LIMIT ?5
        """
      ).rows(
        .integer(now), .text(mark?.text ?? ""), .optional(owner?.name), .optional(owner?.role.rawValue),
        .integer(Int64(max(limit, 0)))
      ) { rows.append(UploadRecord($0)) }
      return Page(rows, next: rows.count < limit ? nil : rows.last.map { PageMark($0.id) })
    }
  }

  public func uploads(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<UploadRecord> {
    try reading {
      var rows: [UploadRecord] = []
      try statement("SELECT * FROM uploads WHERE id > ?1 ORDER BY id LIMIT ?2").rows(
        .text(mark?.text ?? ""), .integer(Int64(max(limit, 0)))
      ) { rows.append(UploadRecord($0)) }
      return Page(rows, next: rows.count < limit ? nil : rows.last.map { PageMark($0.id) })
    }
  }
}

extension UploadRecord {
  fileprivate init(_ row: borrowing Row) {
    self.init(
      id: row.text(0), owner: row.text(1), role: AccessToken.Role(rawValue: row.text(2)) ?? .user,
      length: row.optionalInteger(3), metadata: row.text(4), concat: row.optionalText(5),
      createdAt: row.integer(6), expiresAt: row.integer(7), attachmentId: row.optionalText(8))
  }
}
