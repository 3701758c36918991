import LedgerPort
import Pipeline

/// The rows of any engine at one moment, for the oracle. No code of the rules is used.
package struct RowImage {
  package struct Attachment {
    package var id: String
    package var status: Status
    package var size: Int64
    package var sha256: [UInt8]?
    /// The path of its object, and of the object of an earlier attempt.
    package var url, kept: String?
    package var parent, transfer: Int64?
    /// Whether its message is there.
    package var hasMessage = true

    package init(
      id: String, status: Status, size: Int64, sha256: [UInt8]?, url: String?, kept: String?, parent: Int64?,
      transfer: Int64?
    ) {
      (self.id, self.status, self.size, self.sha256, self.url) = (id, status, size, sha256, url)
      (self.kept, self.parent, self.transfer) = (kept, parent, transfer)
    }
  }

  package struct Job {
    /// As in the table `jobs`.
    package var state: String
    package var priority: Int64
    /// The holder of the lease, and the number of its exchange.
    package var holder, number: Int64?
    package var attempts, uncounted: Int64
    package var isCancelled: Bool

    package init(
      state: String, priority: Int64, holder: Int64?, number: Int64?, attempts: Int64, uncounted: Int64,
      isCancelled: Bool
    ) {
      (self.state, self.priority, self.holder, self.number) = (state, priority, holder, number)
      (self.attempts, self.uncounted, self.isCancelled) = (attempts, uncounted, isCancelled)
    }
  }

  package struct Expansion {
    package var contents, bytes, open: Int64
    package var isWaiting: Bool

    package init(contents: Int64, bytes: Int64, open: Int64, isWaiting: Bool) {
      (self.contents, self.bytes, self.open, self.isWaiting) = (contents, bytes, open, isWaiting)
    }
  }

  package struct Transfer {
    package var hasEnded, isFetched: Bool

    package init(hasEnded: Bool, isFetched: Bool) { (self.hasEnded, self.isFetched) = (hasEnded, isFetched) }
  }

  package var attachments: [Int64: Attachment] = [:]
  /// True: pending.
  package var deliveries: [Int64: Bool] = [:]
  package var transfers: [Int64: Transfer] = [:]
  package var jobs: [JobKey: Job] = [:]
  package var expansions: [Int64: Expansion] = [:]
  /// The paths of derived objects, once for each attachment.
  package var derived: [String] = []
  package var names: [String: (sha256: [UInt8], uses: Int64)] = [:]
  package var counts: [Status: (attachments: Int64, bytes: Int64)] = [:]
  /// The numbers of their last exchanges.
  package var holders: [Int64: Int64] = [:]
  package var tombstones = 0
  /// The number of the last change.
  package var position: Int64 = 0
  /// By key; by conversation and user; by conversation and id.
  package var conversations: [Int64: (row: Conversation, pair: String?)] = [:]
  package var members: [Int64: [Member]] = [:]
  package var messages: [String: LedgerPort.Message] = [:]
  /// Earlier texts of messages, by conversation and id.
  package var versions: [String: Int] = [:]
  /// The messages that attachments belong to, likewise.
  package var attachmentMessages: Set<String> = []

  package init() {}

  /// How messages are called here.
  package static func name(_ conversation: String, _ message: String) -> String {
    "\(conversation) \(message)"
  }
}

extension ModelLedger {
  package func image() -> RowImage { rows.withLock { $0.image } }
}

extension ModelRows {
  fileprivate var image: RowImage {
    var image = RowImage()
    image.attachments = attachments.mapValues {
      .init(
        id: $0.origin.id, status: $0.outcome.status, size: $0.outcome.sizeBytes ?? 0,
        sha256: $0.outcome.sha256, url: $0.outcome.url, kept: $0.kept, parent: $0.parent,
        transfer: $0.transfer)
    }
    image.deliveries = deliveries.mapValues { $0.status == .pending }
    image.transfers = transfers.mapValues { .init(hasEnded: $0.isFinished, isFetched: $0.fetched != nil) }
    image.jobs = jobs.mapValues { job in
      let state =
        job.token != nil
        ? "leased"
        : job.dueAt != nil ? "scheduled" : job.isWaiting ? "waiting" : job.isExpanded ? "expanded" : "due"
      return .init(
        state: state, priority: job.priority, holder: job.token?.holder, number: job.token?.number,
        attempts: Int64(job.attempts), uncounted: Int64(job.uncounted), isCancelled: job.cancellation != nil)
    }
    for (key, attachment) in attachments {
      image.derived += attachment.outcome.derived.map(\.url)
      guard let row = attachment.expansion?.row else { continue }
      image.expansions[key] = .init(
        contents: row.contents, bytes: row.bytes, open: row.open, isWaiting: row.isWaiting)
    }
    image.names = names.mapValues { ($0.sha256, Int64($0.uses)) }
    for (status, count) in counts { image.counts[status] = (count.count, count.bytes) }
    image.holders = holders.mapValues(\.number)
    image.tombstones = tombstones.count
    image.position = position.number
    image.conversations = conversations.mapValues { ($0.row, $0.pair) }
    for key in conversations.keys { image.members[key] = members(of: key) }
    for (name, message) in messages {
      let name = RowImage.name(name.conversation, name.message)
      if let written = message.written { image.messages[name] = written }
      if !message.versions.isEmpty { image.versions[name] = message.versions.count }
    }
    for attachment in attachments.values {
      let origin = attachment.origin
      image.attachmentMessages.insert(RowImage.name(origin.conversationId, origin.messageId))
    }
    return image
  }
}
