import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Files that clients send piece by piece.
extension SQLiteLedger {
  package func row(ofUpload id: String) throws -> UploadRecord? {
    try statement("SELECT * FROM uploads WHERE id = ?1").first(.text(id)) { UploadRecord($0) }
  }

  public func upload(_ id: String) throws(LedgerError) -> UploadRecord? {
    try reading { try row(ofUpload: id) }
  }

  package func openUploadCount(of owner: UploadOwner, at now: Int64) throws -> Int { try count(owner, now) }

  package func hasUpload(ofAttachment id: String) throws -> Bool {
    try statement("SELECT 1 FROM uploads WHERE attachment_id = ?1").first(.text(id)) { _ in true } ?? false
  }

  package func setUpload(_ upload: UploadRecord) throws {
    try statement(
      """
      INSERT INTO uploads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
      ON CONFLICT DO UPDATE SET length = ?4, attachment_id = ?9, conversation_id = ?10, message_id = ?11
      """
    ).run(
      .text(upload.id), .text(upload.owner), .text(upload.role.rawValue), .optional(upload.length),
      .text(upload.metadata), .optional(upload.concat), .integer(upload.createdAt),
      .integer(upload.expiresAt), .optional(upload.attachmentId),
      .optional(upload.message?.conversationId), .optional(upload.message?.messageId),
      .optional(upload.forUser))
  }

  public func uploads(
    ofMessages ids: [String], in conversation: String, at now: Int64
  ) throws(LedgerError) -> [String: [UploadRecord]] {
    try reading {
      var found: [String: [UploadRecord]] = [:]
      for id in ids {
        var rows: [UploadRecord] = []
        try statement(
          """
          SELECT * FROM uploads
          WHERE conversation_id = ?1 AND message_id = ?2 AND attachment_id IS NULL AND expires_at > ?3 ORDER BY created_at, id
          """
        ).rows(.text(conversation), .text(id), .integer(now)) { rows.append(UploadRecord($0)) }
        if !rows.isEmpty { found[id] = rows }
      }
      return found
    }
  }

  package func removeUpload(_ id: String) throws {
    try statement("DELETE FROM uploads WHERE id = ?1").run(.text(id))
  }

  package func removeUploads(ofAttachment id: String) throws -> [String] {
    var ids: [String] = []
    try statement("DELETE FROM uploads WHERE attachment_id = ?1 RETURNING id").rows(.text(id)) {
      ids.append($0.text(0))
    }
    return ids
  }

  package func removeUploads(of owner: UploadOwner) throws -> [String] {
    var ids: [String] = []
    try statement(
      """
      DELETE FROM uploads
      WHERE (owner = ?1 AND role = ?2 OR for_user = ?1 AND ?2 = 'user') AND attachment_id IS NULL RETURNING id
      """
    ).rows(.text(owner.name), .text(owner.role.rawValue)) { ids.append($0.text(0)) }
    return ids
  }

  package func openUploads(ofMessage id: String, in conversationId: String) throws -> [String] {
    var ids: [String] = []
    try statement(
      "SELECT id FROM uploads WHERE conversation_id = ?1 AND message_id = ?2 AND attachment_id IS NULL ORDER BY id"
    ).rows(.text(conversationId), .text(id)) { ids.append($0.text(0)) }
    return ids
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
          AND (?3 IS NULL OR owner = ?3 AND role = ?4 OR for_user = ?3 AND ?4 = 'user')
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
      createdAt: row.integer(6), expiresAt: row.integer(7), attachmentId: row.optionalText(8),
      forUser: row.optionalText(11), message: row.optionalText(9).map { Place($0, row.text(10)) })
  }
}
