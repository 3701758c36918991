import LedgerPort
import Pipeline
import Platform

/// A job, as the rules see it.
package struct JobRow: Equatable, Sendable {
  package enum State: Equatable, Sendable {
    case due
    case scheduled(at: Int64)
    case leased(Token)
    /// Waits for a transfer. A transfer in this state waits until a person asks for it.
    case waiting
    /// Waits for children.
    case expanded
  }

  package var state: State
  package var priority: Int64
  /// Why nobody wants the result any more; `nil`: somebody does. The reason of a transfer is a replaced link.
  package var cancellation: String?

  package init(_ state: State, priority: Int64, cancellation: String?) {
    (self.state, self.priority, self.cancellation) = (state, priority, cancellation)
  }
}

/// A new job, due or waiting.
package struct NewJob: Sendable {
  package var key: JobKey
  package var lane: LaneName
  package var priority: Int64
  package var isWaiting: Bool
  package var dueAt: Int64
  /// Number of earlier attempts.
  package var earlier: Int64
  /// See ``Lease/turn``.
  package var turn: Int64

  package init(
    _ key: JobKey, _ lane: LaneName, priority: Int64 = 0, isWaiting: Bool = false, dueAt: Int64,
    earlier: Int64 = 0, turn: Int64 = 0
  ) {
    (self.key, self.lane, self.priority, self.isWaiting) = (key, lane, priority, isWaiting)
    (self.dueAt, self.earlier, self.turn) = (dueAt, earlier, turn)
  }
}

/// The columns of an attachment that rules read.
package struct AttachmentRow: Sendable {
  package var id: String
  package var identity: [UInt8]
  package var status: Status
  package var reason: (stage: String, code: String)?
  package var sizeBytes: Int64?
  package var url: String?
  /// The path of the object of an earlier attempt.
  package var kept: String?
  package var conversationId: String
  package var messageId: String
  package var senderId: String
  package var parent: Int64?
  /// As announced at the intake.
  package var sourceSize: Int64

  package init(
    id: String, identity: [UInt8], status: Status, reason: (stage: String, code: String)?, sizeBytes: Int64?,
    url: String?, kept: String?, conversationId: String, messageId: String, senderId: String, parent: Int64?,
    sourceSize: Int64
  ) {
    (self.id, self.identity, self.status, self.reason) = (id, identity, status, reason)
    (self.sizeBytes, self.url, self.kept) = (sizeBytes, url, kept)
    (self.conversationId, self.messageId, self.senderId) = (conversationId, messageId, senderId)
    (self.parent, self.sourceSize) = (parent, sourceSize)
  }

  /// Its bytes in the counts.
  var countedBytes: Int64 { status == .queued ? 0 : min(max(sizeBytes ?? 0, 0), 1 << 50) }
}

/// The totals of the contents of an attachment; the root of a tree counts all levels.
package struct ExpansionRow: Equatable, Sendable {
  package var contents: Int64 = 0
  package var bytes: Int64 = 0
  /// Time of stages on the contents of the tree; only a root has some.
  package var microseconds: Int64 = 0
  /// Queued children, while the attachment waits for them.
  package var open: Int64 = 0
  /// Only ``LedgerRows/setWaiting(_:open:_:_:)`` and ``LedgerRows/endWaiting(_:)`` change it.
  package var isWaiting = false

  package init() {}
}

/// Counts of the attachments that need a transfer.
package struct TransferNeeds: Equatable, Sendable {
  /// All attachments with its link; the waiting ones; the other queued ones.
  package var links, waiting, working: Int64
  package var isLeased: Bool
  /// Its link has expired.
  package var isExpired: Bool

  package init(links: Int64, waiting: Int64, working: Int64, isLeased: Bool, isExpired: Bool) {
    (self.links, self.waiting, self.working) = (links, waiting, working)
    (self.isLeased, self.isExpired) = (isLeased, isExpired)
  }
}

/// The facts about the old link that a new link needs.
package struct LinkFact: Sendable {
  package var transfer: Int64
  /// Its content is here.
  package var isFetched: Bool
  /// `nil`: the sealed link cannot be opened.
  package var link: Link?
  package var state: TransferState

  package init(transfer: Int64, isFetched: Bool, link: Link?, state: TransferState) {
    (self.transfer, self.isFetched, self.link, self.state) = (transfer, isFetched, link, state)
  }
}

package enum NameAnswer: Sendable {
  case taken
  /// Another content has the path.
  case othersContent
  /// The object there is to be deleted.
  case objectGoes
}
