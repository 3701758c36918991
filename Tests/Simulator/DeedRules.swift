import LedgerPort

/// What must hold of what a person wanted: as it was sent, as it is on record, as it was answered.
final class DeedRules {
  /// Sent, and not answered yet.
  private var sent: [UInt64: [Command]] = [:]
  /// By any command that was sent.
  private(set) var mayBeDeleted: Set<String> = []
  private var cancelled: Set<String> = []
  private var retried: Set<String> = []
  /// Attachments of which a command was sent, so that they may be due earlier.
  private var touched: Set<String> = []
  private(set) var hasDropped = false
  /// A job may have gone, and its key may be another's.
  private var mayReuseJobs = false
  /// Jobs that are gone, at most, while what they were about may still be in hand.
  private(set) var gone = 0
  /// On record.
  private(set) var deleted: Set<String> = []
  /// The coordinator knows of it.
  private var known: (cancelled: Set<String>, deleted: Set<String>) = ([], [])

  func sends(_ commands: [Command], ticket: UInt64) {
    sent[ticket] = commands
    for command in commands {
      switch command {
      case .attachment(let command):
        touched.insert(command.attachmentId)
        switch command.action {
        case .cancel: cancelled.insert(command.attachmentId)
        case .delete:
          mayBeDeleted.insert(command.attachmentId)
          gone += 1
          mayReuseJobs = true
        case .retry, .reprocess: retried.insert(command.attachmentId)
        case .prioritize: break
        }
      case .delivery(let command):
        mayReuseJobs = true
        if command.action == .drop { (hasDropped, gone) = (true, gone + 1) }
      case .lane, .takeIn, .refresh, .token, .upload, .record, .conversation, .user: break
      }
    }
  }

  /// It is on record that it was done.
  func done(_ command: Command) {
    guard case .attachment(let command) = command, case .delete = command.action else { return }
    deleted.insert(command.attachmentId)
  }

  func answered(_ results: [CommandResult], ticket: UInt64) {
    for (command, result) in zip(sent.removeValue(forKey: ticket) ?? [], results) {
      guard case .attachment(let command) = command, result == .done(hasChanged: true) else { continue }
      switch command.action {
      case .cancel: known.cancelled.insert(command.attachmentId)
      case .retry, .reprocess: known.cancelled.remove(command.attachmentId)
      case .delete: known.deleted.insert(command.attachmentId)
      case .prioritize: break
      }
    }
  }

  /// Another coordinator begins. Returns those of which nobody knows whether they were queued again: attachments, and deliveries by
  /// their keys.
  func beginLife() -> (attachments: [String], deliveries: [Int64]) {
    var unknown: (attachments: [String], deliveries: [Int64]) = ([], [])
    for command in sent.values.joined() {
      switch command {
      case .attachment(let command) where [.retry, .reprocess].contains(command.action):
        unknown.attachments.append(command.attachmentId)
      case .delivery(let command) where command.action == .retry: unknown.deliveries.append(command.key)
      default: break
      }
    }
    sent.removeAll()
    known.cancelled.subtract(unknown.attachments)
    return unknown
  }

  /// What is wrong with giving an attachment to a stage.
  func flaw(ofGiving id: String, toEnd isEnd: Bool) -> String? {
    if known.deleted.contains(id) { return "\(id) is worked on after it was deleted" }
    if known.cancelled.contains(id) && !isEnd { return "\(id) goes on after it was cancelled" }
    return nil
  }

  func mayBeCancelled(_ id: String) -> Bool { cancelled.contains(id) }
  func mayBeRetried(_ id: String) -> Bool { retried.contains(id) }

  /// Whether a job may be due earlier than it was to.
  func mayHasten(_ lease: Lease) -> Bool {
    if mayReuseJobs { return true }
    if case .attachment(let attachment) = lease.work { return touched.contains(attachment.origin.id) }
    return false
  }
}
