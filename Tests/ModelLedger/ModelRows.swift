import LedgerPort
import LedgerRules
import Pipeline
import Platform

/// All that is on record.
struct ModelRows: Sendable {
  struct Holder {
    var host: String
    /// Of its last exchange.
    var number: Int64 = 0
    /// When it may be taken for lost.
    var until: Int64
  }

  struct Standing {
    var pause: Pause
    /// Of the coordinator that wrote it.
    var host: String
  }

  struct MessageName: Hashable {
    var conversation, message: String
  }

  struct Message {
    var sender: String
    var participants: [String]
    var isOfUser = false
    /// `nil`: there is no conversation around it.
    var written: LedgerPort.Message?
    /// The texts that it had before, and until when.
    var versions: [(text: String, until: Int64)] = []

    var record: MessageRecord {
      MessageRecord(senderId: sender, participants: participants, isOfUser: isOfUser && written == nil)
    }
  }

  struct Attachment {
    var origin: AttachmentOrigin
    /// Its message was made for it.
    var ownMessage = false
    var identity: [UInt8]
    var source: AttachmentSource
    /// What fetches its link; `nil`: it has none.
    var transfer: Int64?
    var participants: [String]
    var outcome = AttachmentOutcome(.queued)
    var createdAt: Int64
    var finishedAt: Int64?
    var fingerprint: String?
    /// The path of the object of an earlier attempt.
    var kept: String?
    /// What its content was taken out of.
    var parent: Int64?
    var expansion: Expansion?
    /// By number.
    var attempts: [Int: [AttemptRecord]] = [:]
    /// The types of its events, oldest first.
    var told: [String] = []
    var deliveries: [Int64] = []
  }

  struct Expansion {
    var row: ExpansionRow
    /// What was said of it before it waited for its children; `nil`: it does not.
    var said: (outcome: AttachmentOutcome, steps: [Step])?
  }

  struct Delivery {
    var lease: LeasedDelivery
    var status = DeliveryStatus.pending
    var reason: Reason?
    var finishedAt: Int64?
  }

  struct Job {
    var key: JobKey
    var lane: LaneName
    var priority: Int64
    /// When it is due again; `nil`: it is due, or leased.
    var dueAt: Int64?
    /// It is leased under this token.
    var token: Token?
    /// It waits for a transfer. Of a transfer: it is fetched once somebody asks.
    var isWaiting = false
    /// It waits for children.
    var isExpanded = false
    /// See ``Lease/turn``.
    var turn: Int64 = 0
    var attempts = 0
    var uncounted = 0
    var crashes = 0
    var losses = 0
    /// Why its result is not wanted any more.
    var cancellation: String?

    var isDue: Bool { dueAt == nil && token == nil && !isWaiting && !isExpanded }

    /// As the rules see it.
    var row: JobRow {
      let state: JobRow.State =
        if let token { .leased(token) } else if let dueAt { .scheduled(at: dueAt) } else if isWaiting {
          .waiting
        } else { isExpanded ? .expanded : .due }
      return JobRow(state, priority: priority, cancellation: cancellation)
    }
  }

  /// What has changed, as it is kept: what it is called is looked up when it is read.
  enum Subject: Hashable {
    case attachment(Int64)
    /// The place among the tombstones.
    case deletion(Int)
    case delivery(Int64)
    case lane(LaneName)
    case conversation(Int64)
  }

  struct Name {
    var sha256: [UInt8]
    /// 0: the object is to be deleted.
    var uses = 0
  }

  let history: Int64
  var holders: [Int64: Holder] = [:]
  var lastHolder: Int64 = 0
  /// Which senders and hosts of transfers had a turn last, by holder.
  var turns: [Int64: TransferTurns] = [:]
  /// The sender that had a turn last in a lane, by holder.
  var lastTurns: [Int64: [LaneName: Int64]] = [:]
  /// Of how many messages of each conversation links are fetched by themselves, as holders said last.
  var prefetches: [Int64: Int] = [:]
  var lanes: [LaneName: [Standing]] = [.attachments: []]
  var messages: [MessageName: Message] = [:]
  var conversations: [Int64: ConversationRows] = [:]
  /// By key, which rises.
  var documents: [Int64: Document] = [:]
  /// By the content of the derived object.
  var texts: [[UInt8]: String] = [:]
  var accounts: [ByteText: Account] = [:]
  /// By key. The key of the last may be given again, once that is deleted.
  var attachments: [Int64: Attachment] = [:]
  /// Those of all attachments, in order.
  private(set) var places: [Place] = []
  var keysByIdentity: [[UInt8]: Int64] = [:]
  var keysById: [String: Int64] = [:]
  var deliveries: [Int64: Delivery] = [:]
  var transfers: [Int64: Transfer] = [:]
  var tombstones: [Tombstone] = []
  var uploads: [String: UploadRecord] = [:]
  var tokens: [(hash: [UInt8], token: AccessToken)] = []
  /// Of what was deleted.
  var deletedIdentities: [[UInt8]: String] = [:]
  var jobs: [JobKey: Job] = [:]
  var names: [String: Name] = [:]
  var counts: [Status: (count: Int64, bytes: Int64)] = [:]
  /// The change with position 1 is the first.
  var changes: [[Subject]] = []

  init(history: Int64) {
    self.history = history
  }

  var position: Position { Position(history: history, number: Int64(changes.count)) }

  // MARK: Coordinators

  mutating func join(_ host: String, until: Int64, at now: Int64) -> Int64 {
    lastHolder += 1
    holders[lastHolder] = Holder(host: host, until: until)
    let lifted = lanes.filter { $0.value.contains { $0.pause.cause == .fault && $0.host == host } }.map(\.key)
    for lane in lifted { lanes[lane]?.removeAll { $0.pause.cause == .fault && $0.host == host } }
    var changed = ChangedSubjects()
    for lane in lifted.sorted(by: { $0.description < $1.description }) { changed.add(lane: lane) }
    record(changed)
    return lastHolder
  }

  // MARK: Orders

  /// The place of an attachment in the order of intake.
  struct Place: LosslessStringConvertible, Comparable {
    var createdAt, key: Int64

    init(_ createdAt: Int64, _ key: Int64) { (self.createdAt, self.key) = (createdAt, key) }

    init?(_ text: String) {
      let parts = text.split(separator: ".")
      guard parts.count == 2, let createdAt = Int64(parts[0]), let key = Int64(parts[1]) else { return nil }
      self.init(createdAt, key)
    }

    var description: String { "\(createdAt).\(key)" }

    static func < (one: Self, other: Self) -> Bool {
      (one.createdAt, one.key) < (other.createdAt, other.key)
    }
  }

  mutating func add(_ attachment: Attachment, _ key: Int64) {
    let place = Place(attachment.createdAt, key)
    places.insert(place, at: places.lastIndex { $0 < place }.map { $0 + 1 } ?? 0)
    attachments[key] = attachment
  }

  mutating func remove(_ key: Int64) -> Attachment? {
    places.removeAll { $0.key == key }
    return attachments.removeValue(forKey: key)
  }

  // MARK: Small changes

  /// The changes of one exchange get one number. They are told by kind.
  mutating func record(_ changed: ChangedSubjects) {
    if changed.isEmpty { return }
    changes.append(
      changed.attachments.map { .attachment($0) } + changed.deletions.map { .deletion(Int($0)) }
        + changed.deliveries.map { .delivery($0) } + changed.lanes.map { .lane($0) }
        + changed.conversations.map { .conversation($0) })
  }

  /// What has changed, unless it was deleted since.
  func change(_ subject: Subject) -> Change? {
    let id: String? =
      switch subject {
      case .attachment(let key): attachments[key]?.origin.id
      case .deletion(let place): tombstones[place].id
      case .delivery(let key): deliveries[key]?.lease.id
      case .lane(let lane): lane.description
      case .conversation(let key): conversations[key]?.row.id
      }
    return id.map { Change(subject.kind, $0) }
  }

  static func next(_ keys: some Collection<Int64>) -> Int64 { (keys.max() ?? 0) + 1 }

  /// Why a lane stands still, a person's pause first.
  func pauses(of lane: LaneName) -> [Pause] {
    (lanes[lane] ?? []).map(\.pause).sorted { $0.cause.rawValue > $1.cause.rawValue }
  }

  static func size(of source: AttachmentSource) -> Int64 {
    if case .file(_, _, let size, _, _) = source { size } else { 0 }
  }
}

extension ModelRows.Subject {
  var kind: Change.Kind {
    switch self {
    case .attachment: .attachment
    case .deletion: .deletion
    case .delivery: .delivery
    case .lane: .lane
    case .conversation: .conversation
    }
  }
}
