import LedgerPort
import Pipeline
import Testing

/// Values for tests.
enum Sample {
  static let events = LaneName.channel("events")
  static let step = Step(stage: "mime", verdict: "pass", code: nil, message: nil, microseconds: 12)
  static let reason = Reason(stage: "pdf", code: "too-many-pages", message: "it has 9 pages")
  static let expired = Reason(stage: "downloads", code: "link-expired", message: "it answers 403")
  static let disk = Pause(.fault, code: "disk-full", reason: "no room", by: "host")
  static let hand = Pause(.hand, code: "unauthorized", reason: "it is refused", by: "host")
  static let person = Pause(.person, code: "asked", reason: "maintenance", by: "ann")

  static func item(
    _ name: String, message: String? = nil, sender: String = "ann", priority: Int64 = 0
  ) -> IntakeItem {
    IntakeItem(
      conversationId: "c", messageId: message, senderId: sender, participants: ["ann", "ben"],
      fileName: name, source: Array("/in/\(name)".utf8), sourceSize: 5, sourceModified: 7, priority: priority,
      origin: "list:1")
  }

  static func report(added: Int = 0, known: Int = 0, notCompleted: Int = 0) -> IntakeReport {
    var report = IntakeReport()
    (report.added, report.known, report.knownNotCompleted) = (added, known, notCompleted)
    return report
  }

  /// Without what engines number for themselves.
  static func counted(_ results: [CommandResult]) -> [CommandResult] {
    results.map { result in
      guard case .takenIn(var report) = result else { return result }
      report.outcomes = []
      return .takenIn(report)
    }
  }

  static func key(_ lease: Lease) -> Int64 {
    switch lease.work {
    case .attachment(let attachment): attachment.key
    case .delivery(let delivery): delivery.key
    case .transfer(let transfer): transfer.key
    }
  }

  /// The name of the file, or the recipient of the delivery.
  static func name(_ lease: Lease) -> String {
    switch lease.work {
    case .attachment(let attachment): attachment.origin.fileName
    case .delivery(let delivery): delivery.recipient
    case .transfer: ""
    }
  }

  static func id(_ lease: Lease) -> String {
    switch lease.work {
    case .attachment(let attachment): attachment.origin.id
    case .delivery(let delivery): delivery.id
    case .transfer: ""
    }
  }

  static func content(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

  /// A completed attachment.
  static func ended(_ lease: Lease, _ change: (inout EndedAttachment) -> Void = { _ in }) -> Settlement.Ending
  {
    guard case .attachment(let attachment) = lease.work else { return .released }
    var ended = EndedAttachment(
      attachment,
      AttachmentOutcome(
        .completed, mediaType: "application/pdf", sizeBytes: 5, sha256: content(9),
        metadata: #"{"pdf.pages":2}"#, url: "documents/\(name(lease))"),
      attempt: lease.attempt, steps: [step], events: [], priority: lease.priority)
    change(&ended)
    return .attachment(ended)
  }

  /// An attachment that was not completed.
  static func failed(_ lease: Lease, _ change: (inout EndedAttachment) -> Void = { _ in })
    -> Settlement.Ending
  {
    ended(lease) {
      $0.outcome = AttachmentOutcome(.failed, reason: reason)
      change(&$0)
    }
  }

  static func again(
    _ lease: Lease, after: Int64 = 0, crashed: Bool = false, steps: [Step] = [step]
  ) -> Settlement.Ending {
    .again(key: key(lease), after: after, crashed: crashed, attempt: lease.attempt, steps: steps)
  }

  static func putOff(_ lease: Lease, after: Int64 = 0) -> Settlement.Ending {
    .putOff(key: key(lease), after: after, attempt: lease.attempt, steps: [step])
  }

  static func event(
    _ recipients: [String] = ["ann", "ben"], type: String = "attachment.completed",
    channels: [String] = ["events"]
  ) -> OutgoingEvent {
    OutgoingEvent(type: type, data: "{}", channels: channels, recipients: recipients)
  }

  static func question(
    _ byte: UInt8, _ size: Int64 = 5, _ fingerprint: String? = nil, name: String = "a",
    declaredType: String? = nil
  ) -> ContentQuestion {
    ContentQuestion(
      sha256: content(byte), size: size, fingerprint: fingerprint,
      claims: .init(declaredType: declaredType, fileName: name))
  }
}

extension Command {
  static func retry(_ id: String) -> Command { .attachment(AttachmentCommand(id, .retry)) }
  static func reprocess(_ id: String) -> Command { .attachment(AttachmentCommand(id, .reprocess)) }
  static func cancel(_ id: String, _ reason: String = "ann took it back") -> Command {
    .attachment(AttachmentCommand(id, .cancel(reason)))
  }
  static func prioritize(_ id: String, _ priority: Int64) -> Command {
    .attachment(AttachmentCommand(id, .prioritize(priority)))
  }
  static func delete(_ id: String, by person: String = "ann") -> Command {
    .attachment(AttachmentCommand(id, .delete(by: person)))
  }
}
