import LedgerPort
import Pipeline
import SQLite

// The columns of `attachments a` and of its message `m`; the values that are written to them, and read.

extension IntakeItem {
  /// The columns of `attachments` that are written when it is taken in.
  static let columns = [
    "id", "identity", "conversation_id", "message_id", "own_message", "file_name", "declared_type",
    "reference", "source_kind", "source", "source_size", "source_modified", "source_folder_device", "status",
    "created_at", "traceparent",
  ]

  /// The values for the columns, in their order.
  ///
  /// - Parameter messageId: of its message, which was made for it where it names none.
  func values(id: String, identity: [UInt8], messageId: String, at now: Int64) -> [Statement.Value] {
    [
      .text(id), .blob(identity), .text(conversationId), .text(messageId),
      .integer(self.messageId == nil ? 1 : 0), .text(fileName), .optional(declaredType), .optional(reference),
      .text(link == nil ? "file" : "link"),
      .blob(link.map { Array($0.name.utf8) } ?? source), .integer(sourceSize), .integer(sourceModified),
      .optional(folderDevice), .text(Status.queued.rawValue), .integer(now),
      .optional(traceparent),
    ]
  }
}

extension AttachmentOrigin {
  fileprivate static let columns = [
    "a.id", "a.conversation_id", "a.message_id", "m.sender_id", "a.file_name", "a.declared_type",
    "a.reference", "a.traceparent", "(SELECT p.id FROM attachments p WHERE p.key = a.parent)",
  ]
  static let columnList = columns.joined(separator: ", ")
  /// How many they are.
  static let width = Int32(columns.count)

  /// Reads the columns from the one with this number on.
  convenience init(_ row: borrowing Row, from first: Int32 = 0) {
    self.init(
      id: row.text(first), conversationId: row.text(first + 1), messageId: row.text(first + 2),
      senderId: row.text(first + 3), fileName: row.text(first + 4), declaredType: row.optionalText(first + 5),
      reference: row.optionalText(first + 6), traceparent: row.optionalText(first + 7),
      parentId: row.optionalText(first + 8))
  }
}

extension AttachmentOutcome {
  /// The columns of `attachments` that are written when it ends.
  static let columns = [
    "status", "media_type", "size_bytes", "sha256", "metadata", "url", "reason_stage", "reason_code",
    "reason_message",
  ]

  /// The values for the columns, in their order.
  var values: [Statement.Value] {
    [
      .text(status.rawValue), .optional(mediaType), .optional(sizeBytes), .optional(sha256), .text(metadata),
      .optional(url), .optional(reason?.stage), .optional(reason?.code), .optional(reason?.message),
    ]
  }

  /// Reads the columns from the one with this number on.
  fileprivate init(_ row: borrowing Row, _ first: Int32) {
    let sha256 = row.blob(first + 3)
    let reason =
      row.optionalText(first + 7) == nil
      ? nil : Reason(stage: row.text(first + 6), code: row.text(first + 7), message: row.text(first + 8))
    self.init(
      Status(rawValue: row.text(first)) ?? .queued, reason: reason, mediaType: row.optionalText(first + 1),
      sizeBytes: row.optionalInteger(first + 2), sha256: sha256.isEmpty ? nil : sha256,
      metadata: row.text(first + 4), url: row.optionalText(first + 5))
  }
}

extension AttachmentRecord {
  private static let columns =
    AttachmentOrigin.columns + ["a.key", "a.source", "a.created_at", "a.finished_at"]
    + AttachmentOutcome.columns.map { "a.\($0)" } + ["a.kept"]
  static let columnList = columns.joined(separator: ", ")
  /// The same for statements that read `attachments a` alone.
  static let expressions = columns.map {
    $0 != "m.sender_id"
      ? $0
      : "(SELECT m.sender_id FROM messages m WHERE m.conversation_id = a.conversation_id AND m.message_id = a.message_id)"
  }

  /// Reads the columns from the one with this number on. Steps have a table of their own.
  init(_ row: borrowing Row, from start: Int32 = 0) {
    let first = start + AttachmentOrigin.width
    self.init(
      key: row.integer(first), AttachmentOrigin(row, from: start), source: row.blob(first + 1),
      AttachmentOutcome(row, first + 4), createdAt: row.integer(first + 2),
      finishedAt: row.optionalInteger(first + 3), steps: [],
      keptObject: row.optionalText(first + 4 + Int32(AttachmentOutcome.columns.count)))
  }
}
