import Platform

/// A file to be taken in, with what is said of it.
///
/// Each field is declared once, in ``visit(_:)``: from that follow the keys of a manifest, the message to a running coordinator,
/// and what is refused. Its column is in `AttachmentRecord.swift`, beside the reading of it.
public struct IntakeItem: Sendable, Equatable {
  public var conversationId: String
  /// `nil`: the file becomes its own message.
  public var messageId: String?
  public var senderId: String
  public var participants: [String]
  public var text: String?
  public var fileName: String
  public var declaredType: String?
  /// The client's own name for it, which returns in every event.
  public var reference: String?
  /// Of the request that brought it.
  public var traceparent: String?
  public var source: [UInt8]
  public var sourceSize: Int64
  /// Nanoseconds since 1970.
  public var sourceModified: Int64
  /// The device that its folder is on (`st_dev`); `nil`: not known.
  public var folderDevice: Int64?
  public var priority: Int64
  /// Content that is to be fetched, in the place of a file; a secret but for its host.
  public var url: String?
  /// How it is asked for: `GET`, `POST`; `nil`: GET.
  public var method: String?
  /// What a `POST` sends.
  public var body: String?
  /// The name of a credential in the pipeline.
  public var credential: String?
  /// Bytes that the content of the link has; `nil`: not known.
  public var size: Int64?
  /// Of the content of the link, 64 hexadecimal digits; `nil`: not known.
  public var sha256: String?
  /// Until when servers take the link, as RFC 3339 writes it, in UTC; `nil`: not known.
  public var expiresAt: String?
  /// Who alone shares what is fetched; `nil`: all who ask for the same. Only this process says it: no manifest and no message.
  public var linkScope: String?
  /// Whether it is refused where its message is on record with other participants; else those on record stay. Only this process says
  /// it: no manifest and no message.
  public var checksParticipants = false
  /// It is taken in only where there is a conversation with its conversation's id, whose member its sender is.
  public var isOfMember = false
  /// Whether a user's own request brought it, and no service's. Only this process says it: no manifest and no message.
  public var isOfUser = false
  /// Whether it is worked on although it is known, has ended, or was deleted. Only this process says it: no manifest and no message.
  public var isAgain = false
  /// Whether its file is a message of a Maildir, which has another path once it is read or flagged (``MaildirPath``).
  public var isMaildirMessage = false
  /// Where the file was named, for messages: `manifest.jsonl:17`.
  public var origin: String

  public init(
    conversationId: String = "", messageId: String? = nil, senderId: String = "", participants: [String] = [],
    text: String? = nil, fileName: String = "", declaredType: String? = nil, source: [UInt8] = [],
    sourceSize: Int64 = 0, sourceModified: Int64 = 0, priority: Int64 = 0,
    reference: String? = nil, origin: String = ""
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
    self.reference = reference
    self.origin = origin
  }

  /// Passes each field to a visitor. The order is that of the message to a coordinator.
  package mutating func visit<Visitor: IntakeVisitor & ~Copyable>(_ visitor: inout Visitor) throws(Visitor
    .Failure)
  {
    try visitor.visit(.id("conversationId"), &conversationId)
    try visitor.visit(.id("messageId"), &messageId)
    try visitor.visit(.id("senderId"), &senderId)
    try visitor.visit(.id("participants"), &participants)
    try visitor.visit(IntakeField("text", 0...(1 << 20)), &text)
    try visitor.visit(IntakeField("fileName", 0...1024), &fileName)
    try visitor.visit(.id("declaredType"), &declaredType)
    try visitor.visit(.id("reference"), &reference)
    try visitor.visit(IntakeField("path", 1...4095), &source)
    try visitor.visit(.own("sourceSize"), &sourceSize)
    try visitor.visit(.own("modified"), &sourceModified)
    try visitor.visit(.own("device"), &folderDevice)
    try visitor.visit(IntakeField("priority"), &priority)
    try visitor.visit(IntakeField("url", 1...8192), &url)
    try visitor.visit(IntakeField("method", 1...16), &method)
    try visitor.visit(IntakeField("body", 0...(64 << 10)), &body)
    try visitor.visit(.id("credential"), &credential)
    try visitor.visit(IntakeField("size"), &size)
    try visitor.visit(IntakeField("sha256", 64...64), &sha256)
    try visitor.visit(IntakeField("expiresAt", 20...24), &expiresAt)
    try visitor.visit(IntakeField("traceparent", 55...55), &traceparent)
    try visitor.visit(.own("isMaildirMessage"), &isMaildirMessage)
    try visitor.visit(.own("origin"), &origin)
  }

  /// The keys that a line of a manifest may have; `path` is the one that it must have.
  public static let keys: [String] = {
    struct Keys: IntakeVisitor {
      var names: [String] = []
      mutating func add(_ field: IntakeField) { if field.isKey { names.append(field.name) } }
      mutating func visit(_ field: IntakeField, _ value: inout String) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout String?) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout [String]) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout Int64) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout Int64?) { add(field) }
      mutating func visit(_ field: IntakeField, _ value: inout Bool) { add(field) }
    }
    var keys = Keys()
    var item = IntakeItem()
    item.visit(&keys)
    return ["path"] + keys.names.filter { $0 != "path" }
  }()
}

extension IntakeItem {
  /// The name of what is fetched as long as neither a person nor a server has named it.
  public static let unnamed = "download"
}

/// What is to be known of a field besides its value.
package struct IntakeField: Sendable {
  package var name: String
  /// How many bytes each of its texts may have.
  package var length: ClosedRange<Int>
  /// Whether a line of a manifest may have it, as a key.
  package var isKey: Bool

  init(_ name: String, _ length: ClosedRange<Int> = 0...Int.max, isKey: Bool = true) {
    self.name = name
    self.length = length
    self.isKey = isKey
  }

  static func id(_ name: String) -> IntakeField { IntakeField(name, 1...256) }
  /// Not said by a user, but seen.
  static func own(_ name: String) -> IntakeField { IntakeField(name, isKey: false) }

  /// Why a text cannot be its value; `nil`: it can.
  package func fault(_ text: some Collection<UInt8>) -> String? {
    if text.contains(0) { return "'\(name)' holds a NUL character" }
    if length.contains(text.count) { return nil }
    let allowed =
      length.lowerBound == 0 ? "\(length.upperBound)" : "\(length.lowerBound) to \(length.upperBound)"
    return "'\(name)' has \(text.count) bytes where \(allowed) are allowed"
  }
}

/// Reads or writes the fields of an ``IntakeItem``, one after the other.
package protocol IntakeVisitor: ~Copyable {
  associatedtype Failure: Error = Never
  mutating func visit(_ field: IntakeField, _ value: inout String) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout String?) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout [String]) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout Int64) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout Int64?) throws(Failure)
  mutating func visit(_ field: IntakeField, _ value: inout Bool) throws(Failure)
}

extension IntakeItem {
  /// What is to be fetched; `nil`: it is a file.
  public var link: Link? {
    guard let url else { return nil }
    return Link(
      url: url, method: method ?? "GET", body: body, credential: credential, size: size,
      sha256: sha256.map { Hexadecimal.bytes($0) ?? [] }, declaredType: declaredType,
      expiresAt: expiresAt.flatMap { Clock.milliseconds(ofTimestamp: $0) }, scope: linkScope)
  }

  /// Why its `expiresAt` is no time; `nil`: it is one, or there is none.
  package var expiryFault: String? {
    guard let expiresAt, Clock.milliseconds(ofTimestamp: expiresAt) == nil else { return nil }
    return "'expiresAt' is no time in UTC such as 2026-01-31T08:00:00Z"
  }

  /// The path of the file that it lies in; of a link, none.
  public var file: [UInt8] { MboxPath(source)?.file ?? source }

  package var attachmentSource: AttachmentSource {
    .file(host: nil, path: source, size: sourceSize, modified: sourceModified, folderDevice: folderDevice)
  }

  /// Whether a text is a `traceparent` of version 00: identifiers of trace and parent that are not all zeros, and flags
  /// (https://www.w3.org/TR/trace-context/#traceparent-header).
  public static func isTraceparent(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [2, 32, 16, 2], parts[0] == "00" else { return false }
    let isHexadecimal = parts.allSatisfy {
      $0.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
    return isHexadecimal && parts[1...2].allSatisfy { $0.utf8.contains { $0 != 0x30 } }
  }

  private var traceFault: String? {
    guard let traceparent, !Self.isTraceparent(traceparent) else { return nil }
    return "'traceparent' is none of version 00"
  }

  /// Why the item cannot be taken in; `nil`: it can. Items may come from another process, and an item that breaks a constraint of
  /// the ledger would end the coordinator.
  package var fault: String? {
    var faults = FaultFinder()
    var item = self
    item.visit(&faults)
    if let link {
      if !source.isEmpty { return "it has a path and a url" }
      return faults.first ?? traceFault ?? expiryFault ?? link.fault
    }
    if source.first != UInt8(ascii: "/") { return "its path is not an absolute path" }
    if isMaildirMessage && MaildirPath(source) == nil {
      return "its path is not that of a message in a Maildir"
    }
    if sourceSize < 0 { return "its size is \(sourceSize)" }
    return faults.first ?? traceFault
  }

  private struct FaultFinder: IntakeVisitor {
    var first: String?

    mutating func visit(_ field: IntakeField, _ value: inout String) {
      first = first ?? field.fault(value.utf8)
    }
    mutating func visit(_ field: IntakeField, _ value: inout String?) {
      if let value { first = first ?? field.fault(value.utf8) }
    }
    mutating func visit(_ field: IntakeField, _ value: inout [String]) {
      for text in value { first = first ?? field.fault(text.utf8) }
    }
    mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) {
      // Of a link there is none.
      if !value.isEmpty { first = first ?? field.fault(value) }
    }
    mutating func visit(_ field: IntakeField, _ value: inout Int64) {}
    mutating func visit(_ field: IntakeField, _ value: inout Int64?) {}
    mutating func visit(_ field: IntakeField, _ value: inout Bool) {}
  }
}
