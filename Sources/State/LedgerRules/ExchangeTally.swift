import LedgerPort
import Pipeline

/// What the rules gather in one transaction, for the reply and for what is recorded at its end.
package struct ExchangeTally {
  /// Milliseconds since 1970, for what is recorded.
  package let now: Int64
  /// By the clock that says what is due, in milliseconds.
  package let time: Int64
  /// Of the leases that this exchange grants.
  package let token: Token
  package var changed = ChangedSubjects()
  /// Lanes whose states commands have changed, each once.
  package private(set) var lanes: [LaneName] = []
  /// Attachments were deleted.
  package var hasDeleted = false
  /// There may be objects that are no attachment's any more.
  package var hasUnused = false
  /// Transfers whose files are no longer needed.
  package var filesToDelete: [Int64] = []
  /// Uploads that are over.
  package var uploadsToDelete: [String] = []
  /// Transfers under way that no attachment waits for.
  package var unwanted: [Int64] = []
  package var priorities: [TransferPriority] = []
  /// Attachments that have ended, by status: one change of the counts for each.
  private(set) var ended: [(status: Status, attachments: Int64, bytes: Int64)] = []

  package init(now: Int64, time: Int64, token: Token) {
    (self.now, self.time, self.token) = (now, time, token)
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
  /// What the counts add for it. No number of attachments makes their sum overflow.
  package var countedBytes: Int64 { min(max(sizeBytes ?? 0, 0), 1 << 50) }
}

/// What an exchange visibly changes: the keys of each kind, in their order. The kinds follow each other as they are declared.
package struct ChangedSubjects {
  package private(set) var attachments: [Int64] = []
  /// The keys of tombstones.
  package private(set) var deletions: [Int64] = []
  package private(set) var deliveries: [Int64] = []
  /// Only a lane can change more than once in an exchange. It is here once.
  package private(set) var lanes: [LaneName] = []

  package init() {}

  package var isEmpty: Bool {
    attachments.isEmpty && deletions.isEmpty && deliveries.isEmpty && lanes.isEmpty
  }

  package mutating func add(attachment key: Int64) { attachments.append(key) }
  package mutating func add(deletion key: Int64) { deletions.append(key) }
  package mutating func add(delivery key: Int64) { deliveries.append(key) }
  package mutating func add(lane: LaneName) { if !lanes.contains(lane) { lanes.append(lane) } }
}
