import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Attachments, their attempts, events and objects, as the rules read and write them.
extension SQLiteLedger {
  private enum Text {
    static let row: StaticString = """
      SELECT a.id, a.identity, a.status, a.reason_stage, a.reason_code, a.size_bytes, a.url, a.kept, a.conversation_id,
        a.message_id, m.sender_id, a.parent, a.source_size
      FROM attachments a JOIN messages m USING (conversation_id, message_id) WHERE a.key = ?1
      """
    static let record = SQLText(
      """
      SELECT \(AttachmentRecord.columnList) FROM attachments a JOIN messages m USING (conversation_id, message_id)
      WHERE a.id = ?1
      """)
    static let addChild = SQLText(insertInto: "attachments", IntakeItem.columns + ["parent"])
    static let setSource: StaticString = """
      UPDATE attachments SET source = ?2, source_modified = coalesce(?3, source_modified) WHERE key = ?1 AND source <> ?2
      """
    static let setKept: StaticString = "UPDATE attachments SET kept = ?2 WHERE key = ?1"
    static let lastAttempt: StaticString = "SELECT max(number) FROM attempts WHERE attachment_key = ?1"
    /// Whether a stage has replaced the content.
    static let isObjectMade: StaticString = """
      SELECT CASE WHEN json_valid(metadata) THEN metadata ->> '$."original.sha256"' IS NOT NULL ELSE 0 END
      FROM attachments WHERE key = ?1
      """
    /// See ``RecordedCheck/place``.
    static let isCheck: StaticString = """
      SELECT source_kind = 'file' AND substr(source, 1, 10) = CAST('/dev/null/' AS BLOB) FROM attachments WHERE key = ?1
      """
  }

  package func attachment(_ key: Int64) throws -> AttachmentRow? {
    try statement(Text.row).first(.integer(key)) { row in
      AttachmentRow(
        id: row.text(0), identity: row.blob(1), status: Status(rawValue: row.text(2)) ?? .queued,
        reason: row.optionalText(4).map { (row.text(3), $0) }, sizeBytes: row.optionalInteger(5),
        url: row.optionalText(6), kept: row.optionalText(7), conversationId: row.text(8),
        messageId: row.text(9), senderId: row.text(10), parent: row.optionalInteger(11),
        sourceSize: row.integer(12))
    }
  }

  package func addAttachment(
    _ item: IntakeItem, id: String, identity: [UInt8], messageId: String, parent: Int64?, at now: Int64
  ) throws -> Int64 {
    let values = item.values(id: id, identity: identity, messageId: messageId, at: now)
    if let parent {
      try statement(Text.addChild).run(values + [.integer(parent)])
    } else {
      try statement(SQL.addAttachment).run(values)
    }
    return connection.lastInsertedRow
  }

  package func endAttachment(
    _ key: Int64, _ outcome: AttachmentOutcome, fingerprint: String?, at now: Int64
  ) throws -> Bool {
    let fingerprint = try fingerprint.flatMap { try fingerprintKey($0, isNew: true) }
    try statement(SQL.endAttachment).run(
      [.integer(key)] + outcome.values + [.integer(now), .optional(fingerprint)])
    return connection.changes == 1
  }

  package func reopenAttachment(_ key: Int64) throws {
    try statement(SQL.queueAttachment).run(.integer(key))
  }

  package func setKept(_ key: Int64, _ path: String?) throws {
    try statement(Text.setKept).run(.integer(key), .optional(path))
  }

  package func setSource(_ key: Int64, _ path: [UInt8], modified: Int64?) throws {
    try statement(Text.setSource).run(.integer(key), .blob(path), .optional(modified))
  }

  package func nameUnnamed(_ key: Int64, _ name: String) throws {
    try statement(SQL.nameOne).run(.integer(key), .text(name))
  }

  package func removeAttachment(_ key: Int64, _ row: AttachmentRow) throws {
    try statement(SQL.removeAttachment).run(.integer(key))
    try statement(SQL.removeEmptyMessage).run(.text(row.conversationId), .text(row.messageId))
  }

  package func known(_ identity: [UInt8]) throws -> (key: Int64, id: String, status: Status)? {
    try statement(SQL.knownAttachment).first(.blob(identity)) {
      ($0.integer(2), $0.text(0), Status(rawValue: $0.text(1)) ?? .queued)
    }
  }

  package func deleted(_ identity: [UInt8]) throws -> String? {
    if !hasTombstones { return nil }
    return try statement(SQL.tombstone).first(.blob(tombstoneIdentity(identity))) { $0.text(0) }
  }

  package func addTombstone(_ id: String, identity: [UInt8]?, by person: String, at now: Int64) throws
    -> Int64
  {
    try statement(SQL.addTombstone).run(
      .text(id), .blob(identity.map(tombstoneIdentity) ?? Self.noIdentity), .text(person), .integer(now))
    return connection.lastInsertedRow
  }

  /// The identity of a tombstone that matches no file.
  private static let noIdentity = [UInt8](repeating: 0, count: 16)

  /// The identity in a tombstone: a hash, since an identity contains a part of the file's name.
  func tombstoneIdentity(_ identity: [UInt8]) -> [UInt8] {
    var values = HashedValues()
    values.add(identity)
    return Array(hash.digest(of: values).prefix(16))
  }

  package func count(_ status: Status, _ attachments: Int64, bytes: Int64) throws {
    try statement(SQL.addToCount).run(.text(status.rawValue), .integer(attachments), .integer(bytes))
  }

  package func addMessage(_ item: IntakeItem, id: String, at now: Int64) throws -> MessageRecord? {
    try statement(SQL.addMessage).run(
      .text(item.conversationId), .text(id), .text(item.senderId),
      .text(JSONWriter.array(of: item.participants)), .optional(item.text), .integer(now),
      item.isOfUser ? .integer(1) : .null)
    return connection.changes == 1 ? nil : try record(ofMessage: id, of: item.conversationId)
  }

  private func record(ofMessage id: String, of conversation: String) throws -> MessageRecord? {
    try statement(SQL.message).first(.text(conversation), .text(id)) {
      MessageRecord(
        senderId: $0.text(0), participants: JSONStrings.read($0.text(1)) ?? [], isOfUser: $0.integer(2) == 1)
    }
  }

  package func claimMessage(_ id: String, of conversationId: String) throws {
    try statement("UPDATE messages SET of_user = NULL WHERE conversation_id = ?1 AND message_id = ?2").run(
      .text(conversationId), .text(id))
  }

  package func renameMessage(_ id: String, of conversationId: String, to other: String) throws -> [Int64] {
    try statement(SQL.copyMessage).run(.text(conversationId), .text(id), .text(other))
    return try moveAttachments(ofMessage: id, in: conversationId, to: other, in: conversationId)
  }

  package func moveAttachments(
    ofMessage id: String, in conversationId: String, to other: String, in otherConversation: String
  ) throws -> [Int64] {
    var keys: [Int64] = []
    try statement(SQL.moveAttachments).rows(
      .text(conversationId), .text(id), .text(other), .text(otherConversation)
    ) { keys.append($0.integer(0)) }
    try statement(SQL.removeEmptyMessage).run(.text(conversationId), .text(id))
    for conversation in [conversationId, otherConversation] { prefetch.shrink(conversation) }
    return keys.sorted()
  }

  package func participants(ofMessage id: String, in conversationId: String) throws -> [String] {
    try record(ofMessage: id, of: conversationId)?.participants ?? []
  }

  package func record(ofAttachment id: String) throws -> AttachmentRecord? {
    try statement(Text.record).first(.text(id)) { AttachmentRecord($0) }
  }

  public func message(_ id: String, of conversation: String) throws(LedgerError) -> MessageRecord? {
    try reading { try record(ofMessage: id, of: conversation) }
  }

  package func fact(ofAttachment id: String, at time: Int64) throws -> AttachmentDecision.Fact? {
    let fact = try statement(SQL.attachmentToChange).first(.text(id), .integer(time)) { row in
      AttachmentDecision.Fact(
        key: row.integer(0), status: Status(rawValue: row.text(1)) ?? .queued, priority: row.integer(3),
        isWaiting: row.integer(2) == 1, isCancelled: row.integer(4) == 1)
    }
    if let fact { return fact }
    return try statement(SQL.isDeleted).first(.text(id), make: { $0.integer(0) }) == 1 ? .deleted : nil
  }

  package func isObjectMade(_ key: Int64) throws -> Bool { try tells(Text.isObjectMade, key) }
  package func isCheck(_ key: Int64) throws -> Bool { try tells(Text.isCheck, key) }

  private func tells(_ text: StaticString, _ key: Int64) throws -> Bool {
    try statement(text).first(.integer(key)) { $0.integer(0) == 1 } ?? false
  }

  // MARK: Attempts and events

  package func addAttempt(_ number: Int, of key: Int64, _ steps: [Step], at now: Int64) throws -> Bool {
    try statement(SQL.addAttempt).run(
      .integer(key), .integer(Int64(number)), .text(Step.said(steps)), .integer(now))
    return connection.changes == 1
  }

  package func lastAttempt(of key: Int64) throws -> Int64? {
    try statement(Text.lastAttempt).first(.integer(key)) { $0.optionalInteger(0) } ?? nil
  }

  package func toldTypes(of key: Int64) throws -> [String] {
    var types: [String] = []
    try statement(SQL.toldTypes).rows(.integer(key)) { types.append($0.text(0)) }
    return types
  }

  package func addEvent(_ event: OutgoingEvent, of attachment: Int64, at now: Int64) throws -> Int64 {
    try statement(SQL.addEvent).run(
      .integer(attachment), .text(event.type), .text(event.data), .integer(now))
    return connection.lastInsertedRow
  }

  package func removeHistory(of key: Int64) throws {
    for sql in [SQL.removeDeliveryJobs, SQL.removeDeliveries, SQL.removeEvents, SQL.removeAttempts] {
      try statement(sql).run(.integer(key))
    }
  }

  // MARK: Names of objects

  package func takeName(_ path: String, _ sha256: [UInt8]) throws -> NameAnswer {
    try statement(SQL.takeName).run(.text(path), .blob(sha256))
    if connection.changes == 1 { return .taken }
    return try uses(ofName: path) == 0 ? .objectGoes : .othersContent
  }

  package func uses(ofName path: String) throws -> Int64? {
    try statement(SQL.usesOfName).first(.text(path)) { $0.integer(0) }
  }

  package func leaveName(_ path: String) throws {
    try statement(SQL.leaveName).run(.text(path))
    if connection.changes == 0 { try statement(SQL.removeName).run(.text(path)) }
  }

  package func giveUpName(_ path: String) throws {
    try statement(SQL.giveUpName).run(.text(path))
  }

  package func derived(of key: Int64) throws -> [DerivedObject] {
    var objects: [DerivedObject] = []
    try statement(SQL.derivedOf).rows(.integer(key)) { row in
      objects.append(
        DerivedObject(
          name: row.text(0), stage: row.text(1), mediaType: row.text(2), sizeBytes: row.integer(3),
          sha256: row.blob(4), url: row.text(5)))
    }
    return objects
  }

  package func keepText(_ text: ContentText) throws -> Bool {
    try statement(SQL.addText).run(.blob(text.sha256), .text(text.text))
    return connection.changes == 1
  }

  package func setDerived(_ key: Int64, _ objects: [DerivedObject]) throws {
    let before = hasConversations ? try derived(of: key) : []
    try statement(SQL.removeDerived).run(.integer(key))
    for object in objects {
      try statement(SQL.addDerived).run(
        .integer(key), .text(object.name), .text(object.stage), .text(object.mediaType),
        .integer(object.sizeBytes), .blob(object.sha256), .text(object.url))
    }
    for object in before { try statement(SQL.removeText).run(.blob(object.sha256)) }
  }
}
