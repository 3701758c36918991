import Platform

// Records as JSON: what commands print, and what is answered over HTTP.

extension DeliveryRecord {
  /// Writes its members.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func write(to writer: inout JSONWriter, at now: Int64) {
    writer.member("id", id)
    writer.member("attachmentId", attachmentId)
    writer.member("type", type)
    writer.member("channel", channel)
    writer.member("recipient", recipient)
    writer.member("status", status.rawValue)
    writer.member("code", code)
    writer.member("reason", reason)
    writer.member("finishedAt", finishedAt.map(Clock.timestamp))
    if status == .pending {
      writer.member("attempts", Int64(attempts))
      writer.member("nextAt", nextDue.map { Clock.timestamp(now + $0) })
    }
  }
}

extension Pause {
  /// Writes its members.
  public func write(to writer: inout JSONWriter) {
    writer.member("cause", cause.rawValue)
    writer.member("code", code)
    writer.member("reason", reason)
    writer.member("by", by)
    writer.member("since", Clock.timestamp(since))
  }
}

extension Tombstone {
  /// Writes its members.
  public func write(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("deletedBy", deletedBy)
    writer.member("deletedAt", Clock.timestamp(deletedAt))
  }
}

extension LedgerStatus.Lane {
  /// Writes its members.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func write(to writer: inout JSONWriter, at now: Int64) {
    writer.member("name", name.description)
    writer.member("due", Int64(due))
    writer.member("scheduled", Int64(scheduled))
    writer.member("leased", Int64(leased))
    writer.member("nextAt", nextDue.map { Clock.timestamp(now &+ $0) })
    writer.key("paused")
    guard let pause else { return writer.value(nil as String?) }
    writer.object { pause.write(to: &$0) }
  }
}

extension TransferRecord {
  /// Why the last try failed; not of one that is tried again right now.
  public var saidCode: String? { state == .fetched || state == .running ? nil : code }

  /// Writes its members.
  public func write(to writer: inout JSONWriter) {
    writer.member("key", key)
    writer.member("attachmentId", attachmentId)
    writer.member("fileName", fileName)
    writer.member("link", name)
    writer.member("state", state.rawValue)
    writer.member("held", isHeld)
    writer.member("bytes", bytes)
    writer.member("total", total)
    writer.member("attachments", Int64(attachments))
    writer.member("attempts", Int64(attempts))
    writer.member("priority", priority)
    writer.member("nextDueMilliseconds", state == .scheduled ? nextDue : nil)
    writer.member("contentType", contentType)
    writer.member("code", saidCode)
    writer.member("message", saidCode == nil ? nil : reason)
  }
}

extension Position {
  /// The history and the number of the change: `4611686018427387904-1207`.
  public var text: String { "\(history)-\(number)" }

  /// Reads what ``text`` gives; `nil`: it is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    guard parts.count == 2, let history = parts[0], let number = parts[1] else { return nil }
    self.init(history: history, number: number)
  }
}
