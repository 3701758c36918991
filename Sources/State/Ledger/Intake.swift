import Pipeline
import Platform
import SQLite

/// A file to be taken in.
public struct IntakeItem: Sendable {
  public var conversationId: String
  /// `nil`: the file becomes its own message.
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
  /// The device that its folder is on (`st_dev`); `nil`: not known.
  public var folderDevice: Int64?
  public var priority: Int64
  /// Where the file was named, for messages: `manifest.jsonl:17`.
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

extension IntakeItem {
  /// Why the item cannot be taken in; `nil`: it can. Items may come from another process, and an item that
  /// breaks a constraint of the ledger would end the coordinator.
  var fault: String? {
    for (name, id) in [
      ("conversationId", conversationId), ("messageId", messageId ?? "-"), ("senderId", senderId),
    ] {
      if let fault = Self.fault(name, id) { return fault }
    }
    for id in participants {
      if let fault = Self.fault("participants", id) { return fault }
    }
    if fileName.utf8.count > 1024 {
      return "'fileName' has \(fileName.utf8.count) bytes where 1,024 are allowed"
    }
    if [fileName, text ?? "", declaredType ?? ""].contains(where: { $0.utf8.contains(0) }) {
      return "a text holds a NUL character"
    }
    if source.first != UInt8(ascii: "/") || source.contains(0) { return "its path is not an absolute path" }
    if source.count >= 4096 { return "its path has \(source.count) bytes where 4,095 are allowed" }
    if sourceSize < 0 { return "its size is \(sourceSize)" }
    return nil
  }

  private static func fault(_ name: String, _ id: String) -> String? {
    if id.utf8.contains(0) { return "'\(name)' holds a NUL character" }
    return id.isEmpty || id.utf8.count > 256
      ? "'\(name)' has \(id.utf8.count) bytes where 1 to 256 are allowed" : nil
  }
}

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
    try statement(SQL.addAttachment).run(
      .text(ids.next()), .text(item.conversationId), .text(messageId),
      .integer(item.messageId == nil ? 1 : 0),
      .text(item.fileName), .optional(item.declaredType), .blob(item.source), .integer(item.sourceSize),
      .integer(item.sourceModified), .optional(item.folderDevice), .integer(now))
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
