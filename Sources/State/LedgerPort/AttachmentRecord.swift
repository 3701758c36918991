import Pipeline
import Platform

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
    if let parent = origin.parentId { return "attachment \(parent)" }
    let text = String(decoding: source, as: UTF8.self)
    return text.hasPrefix(Self.forwarded) ? "attachment \(text.dropFirst(Self.forwarded.count))" : text
  }

  /// The beginning of the source of a forwarded attachment; the id of the other attachment follows. No file has this path.
  public static let forwarded = "/dev/zero/"

  /// Whether it records a check, of which the content was not kept.
  public var isCheck: Bool { source.starts(with: RecordedCheck.place.utf8) }
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
    // The path of a forwarded object may tell where it comes from.
    if isForUser && source.starts(with: Self.forwarded.utf8) { outcome.url = nil }
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
