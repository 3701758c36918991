import LedgerPort
import Pipeline

/// The results of the rules in one transaction: parts of the reply, and the changes to record at the end.
package struct ExchangeTally {
  /// For records, in milliseconds since 1970.
  package let now: Int64
  /// For due times, in milliseconds of the ledger's steady clock.
  package let time: Int64
  /// The token of the leases that this exchange grants.
  package let token: Token
  /// The number of the change that the exchange makes, if it makes one: see ``Position/number``.
  package let number: Int64
  package let turns: TurnRule
  package var changed = ChangedSubjects()
  /// Lanes with a changed state, each once.
  package private(set) var lanes: [LaneName] = []
  /// Rows were deleted, whose bytes are to be erased.
  package var hasDeleted = false
  /// The ids of deleted attachments.
  package var deletedAttachments: [String] = []
  /// Objects may have lost their last attachment.
  package var hasUnused = false
  /// Transfers with files to delete.
  package var filesToDelete: [Int64] = []
  /// Finished uploads with files to delete.
  package var uploadsToDelete: [String] = []
  /// Transfers under way that no attachment waits for.
  package var unwanted: [Int64] = []
  package var priorities: [TransferPriority] = []
  /// Ended attachments by status; each status is one change of the counts.
  private(set) var ended: [(status: Status, attachments: Int64, bytes: Int64)] = []

  package init(now: Int64, time: Int64, token: Token, number: Int64, turns: TurnRule = .sender) {
    (self.now, self.time, self.token, self.number, self.turns) = (now, time, token, number, turns)
  }

  package mutating func touch(_ lane: LaneName) {
    if !lanes.contains(lane) { lanes.append(lane) }
  }

  mutating func addEnded(_ outcome: AttachmentOutcome) {
    let index = ended.firstIndex { $0.status == outcome.status } ?? ended.count
    if index == ended.count { ended.append((outcome.status, 0, 0)) }
    ended[index].attachments += 1
    ended[index].bytes &+= outcome.countedBytes
  }

  mutating func takeEnded() -> [(status: Status, attachments: Int64, bytes: Int64)] {
    defer { ended = [] }
    return ended
  }
}

extension AttachmentOutcome {
  /// Its bytes in the counts, bounded so that no sum overflows.
  package var countedBytes: Int64 { min(max(sizeBytes ?? 0, 0), 1 << 50) }
}

/// The visible changes of an exchange: the keys of each kind, in order. The kinds follow in the order of their declaration.
package struct ChangedSubjects {
  package private(set) var attachments: [Int64] = []
  /// The keys of tombstones.
  package private(set) var deletions: [Int64] = []
  package private(set) var deliveries: [Int64] = []
  /// Each once: only a lane can change more than once in an exchange.
  package private(set) var lanes: [LaneName] = []
  /// The keys of conversations, each once.
  package private(set) var conversations: [Int64] = []

  package init() {}

  package var isEmpty: Bool {
    attachments.isEmpty && deletions.isEmpty && deliveries.isEmpty && lanes.isEmpty
      && conversations.isEmpty
  }

  package mutating func add(attachment key: Int64) { attachments.append(key) }
  package mutating func add(deletion key: Int64) { deletions.append(key) }
  package mutating func add(delivery key: Int64) { deliveries.append(key) }
  package mutating func add(conversation key: Int64) {
    if !conversations.contains(key) { conversations.append(key) }
  }
  package mutating func add(lane: LaneName) { if !lanes.contains(lane) { lanes.append(lane) } }
}
