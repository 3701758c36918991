import Pipeline
import Platform
import SQLite

/// A file to be taken in.
public struct IntakeItem: Sendable {
  public var conversationId: String
  /// `nil`: the file becomes a message of its own.
  public var messageId: String?
  public var senderId: String
  public var participants: [String]
  public var text: String?
  public var fileName: String
  public var declaredType: String?
  public var source: [UInt8]
  public var sourceSize: Int64
  /// Nanoseconds since 1970.
  public var sourceModified: Int64
  public var priority: Int64
  /// Where it was named, for messages: `manifest.jsonl:17`.
  public var origin: String

  public init(
    conversationId: String, messageId: String?, senderId: String, participants: [String], text: String? = nil,
    fileName: String, declaredType: String? = nil, source: [UInt8], sourceSize: Int64, sourceModified: Int64,
    priority: Int64 = 0, origin: String
  ) {
    self.conversationId = conversationId
    self.messageId = messageId
    self.senderId = senderId
    self.participants = participants
    self.text = text
    self.fileName = fileName
    self.declaredType = declaredType
    self.source = source
    self.sourceSize = sourceSize
    self.sourceModified = sourceModified
    self.priority = priority
    self.origin = origin
  }
}

/// What became of a batch.
public struct IntakeReport: Sendable {
  public var added = 0
  /// Known from before: the same file under the same message.
  public var known = 0
  /// Refused, and why.
  public var problems: [String] = []

  public init() {}
}

extension Ledger {
  /// Queues files, within a transaction.
  func takeIn(_ items: [IntakeItem], _ now: Int64) throws -> IntakeReport {
    var report = IntakeReport()
    for item in items { try takeIn(item, now, &report) }
    if report.added > 0 {
      try statement(SQL.addToCount).run(
        .text(Status.queued.rawValue), .integer(Int64(report.added)), .integer(0))
    }
    return report
  }

  private func takeIn(_ item: IntakeItem, _ now: Int64, _ report: inout IntakeReport) throws {
    // The message first where it has an id: another sender's is not to be joined, whatever the file.
    if let messageId = item.messageId, let sender = try addMessage(item, id: messageId, now) {
      report.problems.append(
        "\(item.origin): message '\(messageId)' of conversation '\(item.conversationId)' is from '\(sender)', "
          + "not from '\(item.senderId)'; give it another messageId")
      return
    }
    let known = try statement(SQL.knownAttachment).first(
      .blob(item.source), .integer(item.sourceSize), .integer(item.sourceModified),
      .text(item.conversationId),
      .text(item.messageId ?? "")
    ) { $0.integer(0) }
    if known != nil {
      report.known += 1
      return
    }
    let messageId = item.messageId ?? ids.next()
    if item.messageId == nil { _ = try addMessage(item, id: messageId, now) }
    try statement(SQL.addAttachment).run(
      .text(ids.next()), .text(item.conversationId), .text(messageId),
      .integer(item.messageId == nil ? 1 : 0),
      .text(item.fileName), .optional(item.declaredType), .blob(item.source), .integer(item.sourceSize),
      .integer(item.sourceModified), .integer(now))
    let key = connection.lastInsertedRow
    try statement(SQL.addAttachmentJob).run(.integer(item.priority), .integer(key), .integer(now))
    report.added += 1
  }

  /// Adds a message that is not there yet. Returns the sender where there is one of this id from somebody else.
  private func addMessage(_ item: IntakeItem, id: String, _ now: Int64) throws -> String? {
    try statement(SQL.addMessage).run(
      .text(item.conversationId), .text(id), .text(item.senderId),
      .text(JSONWriter.array(of: item.participants)),
      .optional(item.text), .integer(now))
    if connection.changes == 1 { return nil }
    let sender = try statement(SQL.messageSender).first(.text(item.conversationId), .text(id)) { $0.text(0) }
    return sender == item.senderId ? nil : sender
  }
}
