import Pipeline
import Platform
import SQLite

/// An attachment as the ledger shows it.
public struct AttachmentRecord: Sendable {
  public var key: Int64
  public var origin: AttachmentOrigin
  /// The path of its file, as bytes.
  public var source: [UInt8]
  public var outcome: AttachmentOutcome
  public var createdAt: Int64
  public var finishedAt: Int64?
  /// The steps of the last attempt.
  public var steps: [Step]
  /// The path of the object of an earlier attempt, which is kept until another takes its place; `nil`: there is none.
  public var keptObject: String?

  public init(
    key: Int64, _ origin: AttachmentOrigin, source: [UInt8], _ outcome: AttachmentOutcome, createdAt: Int64,
    finishedAt: Int64?, steps: [Step], keptObject: String? = nil
  ) {
    self.key = key
    self.origin = origin
    self.source = source
    self.outcome = outcome
    self.createdAt = createdAt
    self.finishedAt = finishedAt
    self.steps = steps
    self.keptObject = keptObject
  }

  /// Where its content came from, as it is shown: the path of its file, or the attachment that it was taken out of. The file of one
  /// that was is the home's own, and gone once it is completed.
  public var sourceName: String {
    origin.parentId.map { "attachment \($0)" } ?? String(decoding: source, as: UTF8.self)
  }

  /// Whether it records a check, of which the content was not kept.
  public var isCheck: Bool { source.starts(with: RecordedCheck.place.utf8) }
}

// MARK: - In the ledger: the columns of `attachments a` and of its message `m`; the values that are written to them, and read

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

// MARK: - As JSON: in events, and in what commands print

extension AttachmentOrigin {
  /// Writes its members, but for the id: that has a name of its own in events.
  public func write(to writer: inout JSONWriter) {
    writer.member("conversationId", conversationId)
    writer.member("messageId", messageId)
    writer.member("senderId", senderId)
    writer.member("fileName", fileName)
    if let reference { writer.member("reference", reference) }
    if let traceparent { writer.member("traceparent", traceparent) }
    if let parentId { writer.member("parentId", parentId) }
  }
}

extension AttachmentOutcome {
  /// Writes its members.
  ///
  /// - Parameter metadataLimit: longer metadata is left out, in bytes.
  public func write(to writer: inout JSONWriter, metadataLimit: Int = .max) {
    writer.member("status", status.rawValue)
    writer.member("mediaType", mediaType)
    writer.member("sizeBytes", sizeBytes)
    writer.member("sha256", sha256.map(Hexadecimal.text))
    writer.member("url", url)
    writer.member("reason", reason)
    if !derived.isEmpty {
      writer.key("derived")
      writer.array { writer in
        for object in derived { writer.object { object.write(to: &$0) } }
      }
    }
    if metadata.utf8.count > metadataLimit { return }
    writer.key("metadata")
    writer.raw(metadata)
  }
}

extension DerivedObject {
  /// Writes its members.
  public func write(to writer: inout JSONWriter) {
    writer.member("name", name)
    writer.member("stage", stage)
    writer.member("mediaType", mediaType)
    writer.member("sizeBytes", sizeBytes)
    writer.member("sha256", Hexadecimal.text(sha256))
    writer.member("url", url)
  }
}

extension AttachmentRecord {
  /// Writes its members.
  ///
  /// - Parameter isForUser: without what is for those alone who operate the server: the place that it came from, who of them took it
  ///   back, and times by which others could tell that its content was there before.
  public func write(to writer: inout JSONWriter, isForUser: Bool = false) {
    writer.member("id", origin.id)
    origin.write(to: &writer)
    if !isForUser { writer.source(sourceName, origin.parentId == nil ? source : []) }
    var outcome = outcome
    if isForUser { outcome.reason = outcome.reason?.forUser }
    if isForUser && outcome.status == .cancelled { outcome.reason?.message = "it was taken back" }
    outcome.write(to: &writer)
    writer.key("stages")
    writer.array { writer in
      for step in steps {
        writer.object { writer in
          writer.member("stage", step.stage)
          writer.member("verdict", step.verdict)
          if isForUser { return }
          writer.key("milliseconds")
          writer.value(Double(step.microseconds) / 1000)
        }
      }
    }
  }
}

extension AttemptRecord {
  /// Writes its members.
  ///
  /// - Parameter isForUser: without what tells that equal content was there before.
  public func write(to writer: inout JSONWriter, isForUser: Bool = false) {
    writer.member("number", Int64(number))
    writer.member("stage", step.stage)
    writer.member("verdict", step.verdict)
    writer.member("code", step.code)
    writer.member("message", isForUser ? step.messageForUser : step.message)
    if !isForUser {
      writer.key("milliseconds")
      writer.value(Double(step.microseconds) / 1000)
    }
    writer.member("recordedAt", Clock.timestamp(recordedAt))
  }
}
