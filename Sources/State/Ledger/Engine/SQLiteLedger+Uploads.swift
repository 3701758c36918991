import Pipeline
import Platform
import SQLite

// Files that clients send piece by piece.
extension SQLiteLedger {
  func apply(_ command: UploadCommand, _ tally: inout ExchangeTally) throws -> CommandResult {
    let known = try record(ofUpload: command.id)
    switch command {
    case .begin(let record):
      if known != nil { return .refused("there is an upload '\(record.id)' already") }
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
      var report = IntakeReport()
      if let attachment = known.attachmentId {
        report.known += 1
        report.outcomes.append(.known(id: attachment))
        return .takenIn(report)
      }
      report = try takeIn([item], &tally)
      if let attachment = report.outcomes.first?.id {
        try statement("UPDATE uploads SET attachment_id = ?2 WHERE id = ?1").run(.text(id), .text(attachment))
      }
      return .takenIn(report)
    case .end(let id):
      guard let known, try !isNeeded(known) else { return .done(hasChanged: false) }
      try statement("DELETE FROM uploads WHERE id = ?1").run(.text(id))
      tally.uploadsToDelete.append(id)
      return .done(hasChanged: true)
    }
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

  public func openUploads(owner: String, role: AccessToken.Role, at now: Int64) throws(LedgerError) -> Int {
    try reading {
      try statement(
        "SELECT count(*) FROM uploads WHERE owner = ?1 AND attachment_id IS NULL AND role = ?2 AND expires_at > ?3"
      ).first(.text(owner), .text(role.rawValue), .integer(now)) { Int($0.integer(0)) } ?? 0
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
