import Pipeline

/// How far a transfer is, as the ledger keeps it.
public struct TransferState: Sendable, Hashable {
  /// In its file and synced.
  public var bytes: Int64
  /// Of the whole content; `nil`: not known.
  public var total: Int64?
  public var etag: String?
  /// The server's `Last-Modified`.
  public var modified: String?

  public init(bytes: Int64 = 0, total: Int64? = nil, etag: String? = nil, modified: String? = nil) {
    self.bytes = bytes
    self.total = total
    self.etag = etag
    self.modified = modified
  }
}

/// The transfer that a lease is for: one for each link, however many attachments have it.
public struct LeasedTransfer: Sendable {
  public var key: Int64
  public var link: Link
  public var state: TransferState
  /// The same for all links with the same scheme, host and port; tells nothing of them.
  public var host: Int64
  /// How often it was begun again at 0 since what had come was wrong.
  public var restarts: Int
  /// Of its oldest attachment.
  public var fileName: String
  /// That attachment.
  public var attachmentId: String

  package init(
    key: Int64, link: Link, state: TransferState, host: Int64, restarts: Int, fileName: String,
    attachmentId: String
  ) {
    self.key = key
    self.attachmentId = attachmentId
    self.fileName = fileName
    self.host = host
    self.link = link
    self.state = state
    self.restarts = restarts
  }
}

/// Content that was fetched, whole.
public struct FetchedContent: Sendable, Equatable {
  /// Bytes.
  public var size: Int64
  public var sha256: [UInt8]
  /// The server's name for it, without what would be harmful in one; `nil`: it gives none.
  public var fileName: String?
  /// The server's `Content-Type`; `nil`: it gives none.
  public var contentType: String?

  public init(size: Int64, sha256: [UInt8], fileName: String? = nil, contentType: String? = nil) {
    (self.size, self.sha256) = (size, sha256)
    (self.fileName, self.contentType) = (fileName, contentType)
  }
}

/// What became of the content of a link.
public enum Fetched: Sendable, Hashable {
  /// It lies in the transfer's file, or else in the store; and has this SHA-256.
  case here(object: String?, sha256: [UInt8])
  /// It could not be fetched.
  case failed(Reason, isRejected: Bool)
}

/// What a coordinator tells of a transfer under way.
public struct TransferCheckpoint: Sendable {
  public var key: Int64
  public var job: JobKey
  public var token: Token
  public var state: TransferState

  public init(_ lease: Lease, key: Int64, _ state: TransferState) {
    (job, token) = (lease.job, lease.token)
    self.key = key
    self.state = state
  }
}

/// A transfer as people see it.
public struct TransferRecord: Sendable {
  public enum State: String, Sendable, CaseIterable {
    /// It is due, and is begun once there is room.
    case waiting
    /// It is tried again later.
    case scheduled
    /// A coordinator has it in hand.
    case running
    case fetched, failed
    /// No attachment waits for it any more.
    case stopped
  }

  /// The code of one that is not fetched by itself, and why.
  package static let notPrefetched = "not-prefetched"
  package static let whyNotPrefetched =
    "its message is not among the newest of its conversation, so it is fetched once somebody asks: `sluice now`"

  /// Whether it is fetched only once it is asked for; see ``Want/prefetch``.
  public var isNotPrefetched: Bool { state == .waiting && code == Self.notPrefetched }

  public var key: Int64
  /// What may be shown of the link.
  public var name: String
  public var state: State
  /// Synced; the whole where it is fetched.
  public var bytes: Int64
  /// `nil`: not known.
  public var total: Int64?
  /// How many attachments it is the transfer of, and the oldest of them.
  public var attachments: Int
  public var attachmentId: String?
  public var fileName: String?
  /// The server's `Content-Type`, once it is fetched.
  public var contentType: String?
  /// It is under way, and stands still while something urgent is.
  public var isHeld: Bool
  public var attempts: Int
  public var priority: Int64
  /// In how many milliseconds it is tried again; 0: it is due, or not queued.
  public var nextDue: Int64
  /// Why the last try failed.
  public var code: String?
  public var reason: String?

  package init(
    key: Int64, name: String, state: State, bytes: Int64, total: Int64?, attachments: Int,
    attachmentId: String?, fileName: String?, contentType: String?, isHeld: Bool = false, attempts: Int,
    priority: Int64, nextDue: Int64, code: String?, reason: String?
  ) {
    (self.key, self.name, self.state, self.isHeld) = (key, name, state, isHeld)
    (self.bytes, self.total, self.attachments) = (bytes, total, attachments)
    (self.attachmentId, self.fileName, self.contentType) = (attachmentId, fileName, contentType)
    (self.attempts, self.priority, self.nextDue) = (attempts, priority, nextDue)
    (self.code, self.reason) = (code, reason)
  }
}

/// An attachment that a transfer is for, among others perhaps.
public struct TransferSharer: Sendable, Equatable {
  public var attachmentId: String
  /// Who sent it, and who takes part.
  public var users: [String]

  package init(attachmentId: String, users: [String]) {
    (self.attachmentId, self.users) = (attachmentId, users)
  }
}

/// How urgent a transfer is.
public struct TransferPriority: Sendable, Equatable {
  /// From this priority on, others stand still.
  public static let urgent: Int64 = 100
  /// What a user wants now: it goes ahead of the queue, and no other stands still for it.
  public static let hastened: Int64 = 99
  /// From this priority on, it was asked for; see ``Want/prefetch``.
  public static let asked: Int64 = 1

  public var key: Int64
  public var priority: Int64

  package init(key: Int64, priority: Int64) {
    (self.key, self.priority) = (key, priority)
  }
}
