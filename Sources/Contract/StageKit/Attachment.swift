import Glibc

/// The attachment a stage works on, and what it may say of it.
///
/// Valid until `process` returns; for a stage that flushes, until the `flush` that follows; for one that turns, until it is
/// settled.
public struct Attachment {
  private let raw: UnsafePointer<sluice_attachment>
  let call: OpaquePointer
  let host: UnsafePointer<sluice_host>

  init(_ raw: UnsafePointer<sluice_attachment>, call: OpaquePointer, host: UnsafePointer<sluice_host>) {
    self.raw = raw
    self.call = call
    self.host = host
  }

  /// Its id in the ledger: a UUID of version 7, in lower case.
  public var id: String { String(cString: raw.pointee.id) }
  /// The conversation its message belongs to. The sender may have chosen it: never build a path from it.
  public var conversationId: String { String(cString: raw.pointee.conversation_id) }
  /// The message it came with; as hostile as the conversation's id.
  public var messageId: String { String(cString: raw.pointee.message_id) }
  /// Who sent it; as hostile as the conversation's id.
  public var senderId: String { String(cString: raw.pointee.sender_id) }
  /// As the sender gave it: hostile. Never build a path from it; see ``expand(_:)``.
  public var fileName: String { String(cString: raw.pointee.file_name) }
  /// As the sender declared it, if at all.
  public var declaredType: String? { raw.pointee.declared_type.map { String(cString: $0) } }
  /// As an earlier stage found it from the content.
  public var mediaType: String? { raw.pointee.media_type.map { String(cString: $0) } }
  /// Of the content: 64 hexadecimal digits.
  public var sha256: String? { raw.pointee.sha256.map { String(cString: $0) } }
  /// For `store` stages: a path below the store that holds the same content already.
  public var twin: String? { raw.pointee.twin.map { String(cString: $0) } }
  /// For `store` stages: the name under which the object is left in `.incoming/`. It is of this attempt alone.
  public var stagedName: String {
    // A host of 1.0 gives none, and its structure ends before it.
    let end = MemoryLayout<sluice_attachment>.offset(of: \.staged_name) ?? .max
    guard Int(raw.pointee.size) > end, let name = raw.pointee.staged_name else { return id }
    return String(cString: name)
  }
  /// 1 for the first attempt; more: an earlier attempt may have taken effect.
  public var attempt: Int { Int(raw.pointee.attempt) }
  /// Bytes of content.
  public var size: Int64 { Int64(clamping: raw.pointee.content_size) }
  /// The content: seekable, read only, at offset 0. -1 for stages at the end and channels.
  public var content: Int32 { raw.pointee.content }
  /// `SLUICE_COMPLETED` and so on; `SLUICE_UNDECIDED` in the line.
  public var outcome: UInt32 { raw.pointee.outcome }
  /// For stages at the end: why it was rejected, failed or is in quarantine; `nil` for what is completed.
  public var reason: Reason? { Reason(raw.pointee) }
  /// The event to deliver, for channels.
  public var event: Event? { raw.pointee.event.map { Event($0) } }

  // MARK: Reading

  /// Reads up to `buffer.count` bytes at an offset; 0 at the end. Throws a retry where the system cannot read.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Outcome) -> Int {
    while true {
      let count = pread(content, buffer.baseAddress, buffer.count, off_t(offset))
      if count >= 0 { return count }
      if errno != EINTR {
        throw .retry("unreadable", "reading at byte \(offset): \(String(cString: strerror(errno)))")
      }
    }
  }

  /// The bytes at an offset: so many, or those up to the end.
  public func read(_ count: Int, at offset: Int64) throws(Outcome) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { room.deallocate() }
    var filled = 0
    while filled < count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
      let more = try read(into: rest, at: offset + Int64(filled))
      if more == 0 { break }
      filled += more
    }
    return Array(room[..<filled])
  }

  /// Throws a retry where the content's file was changed since it was opened. What was read before a call that returns is
  /// the content that was measured.
  public func checkUnchanged() throws(Outcome) {
    var facts = stat()
    guard fstat(content, &facts) == 0 else {
      throw .retry("unreadable", "asking for the file's state: \(String(cString: strerror(errno)))")
    }
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    if facts.st_size != size || nanoseconds(facts.st_mtim) != raw.pointee.modified
      || nanoseconds(facts.st_ctim) != raw.pointee.changed
    {
      throw .retry("source-changed", "the file was changed while it was read")
    }
  }

  // MARK: Saying

  /// Records metadata under a key the stage lists. Text is cut at 4,000 bytes; of one attachment's metadata what goes beyond
  /// 24 KiB is dropped, with a line in the log.
  public func annotate(_ key: String, _ value: String) { host.pointee.annotate_text(call, key, value) }
  /// The same for a whole number.
  public func annotate(_ key: String, _ value: Int64) { host.pointee.annotate_integer(call, key, value) }
  /// The same for a number; one that is not finite is dropped.
  public func annotate(_ key: String, _ value: Double) { host.pointee.annotate_number(call, key, value) }
  /// The same for true or false.
  public func annotate(_ key: String, _ value: Bool) {
    host.pointee.annotate_boolean(call, key, value ? 1 : 0)
  }

  /// Metadata of an earlier stage, as text.
  public func metadata(_ key: String) -> String? {
    host.pointee.metadata(call, key).map { String(cString: $0) }
  }

  /// Sets the media type that later stages and conditions see.
  public func setMediaType(_ mediaType: String) { host.pointee.set_media_type(call, mediaType) }

  /// For `store` stages: where the object is to lie below the folder. It is left, synced, as `.incoming/` and
  /// ``stagedName``; the
  /// host gives it this path once the ledger has the attachment.
  public func setLocation(_ path: String) { host.pointee.set_location(call, path) }

  /// Emits an event of this type on a channel, to an audience such as `SLUICE_TO_PARTICIPANTS`.
  public func emit(_ type: String, on channel: String, to audience: UInt32) {
    host.pointee.emit(call, type, channel, audience)
  }

  /// How far the work is, from 0 to 1.
  public func progress(_ fraction: Double) { host.pointee.progress(call, fraction) }

  /// Whether the result is not wanted any more.
  public var isCancelled: Bool { host.pointee.cancelled(call) != 0 }

  /// A line in the log. Warnings and errors reach the operator, with the attachment's id. The rest goes to the worker's standard
  /// error: `sluice stages run` shows it, and an ingest if the worker ends badly.
  public func log(_ level: LogLevel = .info, _ line: String) { host.pointee.log(call, level.rawValue, line) }

  /// A descriptor for new content, which replaces the content for later stages if the stage passes.
  public func produce() throws(Outcome) -> Int32 {
    let descriptor = host.pointee.produce(call)
    if descriptor < 0 { throw .fail("cannot-produce", "the stage does not declare that it produces content") }
    return descriptor
  }

  // MARK: Deciding

  /// Whether the media type matches a pattern (`image/*`). Unknown matches `*/*` only.
  public func matches(_ pattern: String) -> Bool {
    host.pointee.matches(pattern, raw.pointee.media_type) != 0
  }

  /// The entry of a map that fits the media type best: the exact type before `type/*` before `*/*` before an entry
  /// without a pattern.
  public func best(of entries: [Entry]) -> Entry? {
    func rank(_ entry: Entry) -> Int {
      guard let pattern = entry.pattern else { return 1 }
      if !matches(pattern) { return 0 }
      if pattern == "*/*" { return 2 }
      return pattern.utf8.contains(UInt8(ascii: "*")) ? 3 : 4
    }
    return entries.max { rank($0) < rank($1) }.flatMap { rank($0) > 0 ? $0 : nil }
  }

  /// Fills in a path template. The result cannot leave the folder it is used in.
  public func expand(_ template: String) throws(Outcome) -> String {
    guard let path = host.pointee.expand(call, template) else {
      throw .fail("path-too-long", "the path made from \(template) is longer than 1,024 bytes")
    }
    return String(cString: path)
  }

  /// During `flush`, or of a stage that turns: the verdict of this attachment; `nil` is a pass. One that turns uses the attachment
  /// no more after that.
  public func settle(_ outcome: Outcome?) {
    if let outcome { say(outcome) }
    host.pointee.settle(call, outcome?.verdict ?? SLUICE_PASS)
  }

  func say(_ outcome: Outcome) { outcome.say(to: host, call) }
}

extension Outcome {
  /// Tells the host everything but the verdict.
  func say(to host: UnsafePointer<sluice_host>, _ call: OpaquePointer) {
    host.pointee.explain(call, code, message)
    if let retryAfter { host.pointee.retry_after(call, retryAfter) }
    if pausesLane { host.pointee.pause(call) }
  }
}

/// An event for one recipient, as a channel gets it.
public struct Event {
  private let raw: UnsafePointer<sluice_event>

  init(_ raw: UnsafePointer<sluice_event>) {
    self.raw = raw
  }

  /// Never changes, however often delivery is tried.
  public var id: String { String(cString: raw.pointee.id) }
  /// Such as `attachment.completed`.
  public var type: String { String(cString: raw.pointee.type) }
  /// Whom it is for.
  public var recipient: String { String(cString: raw.pointee.recipient) }
  /// The whole event as one line of JSON, without a newline.
  public var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: raw.pointee.body, count: Int(raw.pointee.body_length))
  }
}
