import Pipeline
import Platform
import SQLite

/// The result of taking in a batch.
public struct IntakeReport: Sendable, Equatable {
  public var added = 0
  /// Files that were known already: the same file under the same message.
  public var known = 0
  /// Of the known ones, how many have ended and were not completed.
  public var knownNotCompleted = 0
  /// The items that were refused, with reasons.
  public var problems: [String] = []

  public init() {}

  /// Adds another batch's.
  public mutating func add(_ other: IntakeReport) {
    added += other.added
    known += other.known
    knownNotCompleted += other.knownNotCompleted
    problems += other.problems
  }
}

extension Ledger {
  /// Queues files. Must be called within a transaction.
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
    if let fault = item.fault {
      report.problems.append("\(item.origin): \(fault); not taken in")
      return
    }
    // The message first, if it has an id: a file must not join another sender's message.
    if let messageId = item.messageId, let sender = try addMessage(item, id: messageId, now) {
      report.problems.append(
        "\(item.origin): message '\(messageId)' of conversation '\(item.conversationId)' is from '\(sender)', "
          + "not from '\(item.senderId)'; give it another messageId")
      return
    }
    let status = try statement(SQL.knownAttachment).first(
      .blob(item.source), .integer(item.sourceSize), .integer(item.sourceModified),
      .text(item.conversationId),
      .text(item.messageId ?? "")
    ) { Status(rawValue: $0.text(0)) }
    if let status {
      report.known += 1
      if let status, status.isFinal, status != .completed { report.knownNotCompleted += 1 }
      return
    }
    let messageId = item.messageId ?? ids.next()
    if item.messageId == nil { _ = try addMessage(item, id: messageId, now) }
    try statement(SQL.addAttachment).run(item.values(id: ids.next(), messageId: messageId, at: now))
    let key = connection.lastInsertedRow
    try statement(SQL.addAttachmentJob).run(.integer(item.priority), .integer(key), .integer(now))
    report.added += 1
  }

  /// Adds a message unless it exists. If the id belongs to another sender's message, returns that sender.
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
