import Pipeline
import Platform

/// What fences a lease. Never given twice, and nothing else.
public struct Token: Sendable, Hashable {
  /// The coordinator.
  public var holder: Int64
  /// Of the exchange in which the lease was given.
  public var number: Int64

  public init(holder: Int64, number: Int64) {
    self.holder = holder
    self.number = number
  }
}

/// The name of a job: its kind and its subject. A subject has at most one job.
public struct JobKey: Sendable, Hashable, Comparable, CustomStringConvertible {
  public enum Kind: String, Sendable {
    case attachment, delivery, transfer
  }

  public var kind: Kind
  /// The key of the attachment, the delivery or the transfer.
  public var subject: Int64

  public init(_ kind: Kind, _ subject: Int64) { (self.kind, self.subject) = (kind, subject) }

  public static func < (one: Self, other: Self) -> Bool {
    one.kind == other.kind ? one.subject < other.subject : one.kind.rawValue < other.kind.rawValue
  }

  public var description: String { "\(kind.rawValue) \(subject)" }
}

/// The right to work on a job, with its fencing token.
public struct Lease: Sendable {
  public var job: JobKey
  public var token: Token
  /// The number of this attempt, from 1. Earlier attempts may have taken effect.
  public var attempt: Int
  /// The number of attempts that count against the job, this one included.
  public var counted: Int
  /// How many workers died while working on this job.
  public var crashes: Int
  /// How many coordinators were lost with it in hand.
  public var losses: Int
  public var priority: Int64
  /// Whose it is, of an attachment or a delivery: a hash of the sender.
  public var turn: Int64
  /// Why its result is not wanted any more; `nil`: it is.
  public var cancellation: String?
  public var work: LeasedWork

  public init(
    job: JobKey, token: Token, attempt: Int, counted: Int, crashes: Int = 0, losses: Int = 0,
    priority: Int64 = 0, turn: Int64 = 0, cancellation: String? = nil, work: LeasedWork
  ) {
    self.job = job
    self.token = token
    self.attempt = attempt
    self.counted = counted
    self.crashes = crashes
    self.losses = losses
    self.priority = priority
    self.turn = turn
    self.cancellation = cancellation
    self.work = work
  }

  /// After so many losses an attachment is worked on while no other is in hand. An innocent one gets through.
  public static let lossesBeforeSolitude = 3

  /// Whether it is an attachment that may be what ends coordinators: nothing else is to be in hand while it is worked on.
  public var isSolitary: Bool {
    if case .attachment = work { losses >= Self.lossesBeforeSolitude } else { false }
  }
}

/// The work that a lease grants.
public enum LeasedWork: Sendable {
  case attachment(LeasedAttachment)
  case delivery(LeasedDelivery)
  indirect case transfer(LeasedTransfer)
}

public struct LeasedAttachment: Sendable {
  public var key: Int64
  public var origin: AttachmentOrigin
  /// A JSON array of texts, as the ledger keeps it.
  public var participants: String
  public var source: AttachmentSource
  /// Where it stands in a tree of contents that were taken out of contents.
  public var place = TreePlace()
  /// The key of the attachment at the top of that tree.
  public var root: Int64
  /// It has waited for its children, and they have ended; `nil`: it has not.
  public var concluded: ConcludedExpansion?

  public init(key: Int64, origin: AttachmentOrigin, participants: String, source: AttachmentSource) {
    (self.key, root) = (key, key)
    self.origin = origin
    self.participants = participants
    self.source = source
  }
}

/// Where the content of an attachment comes from.
public enum AttachmentSource: Sendable, Hashable {
  /// A file of a host; `nil`: of the one host that has the ledger.
  ///
  /// `modified` is in nanoseconds since 1970. `folderDevice` is the device that its folder was on when it was taken in (`st_dev`);
  /// `nil`: not known.
  case file(host: String?, path: [UInt8], size: Int64, modified: Int64, folderDevice: Int64?)
  /// What a transfer fetched, or could not fetch. `name` is what may be shown of the link.
  case link(transfer: Int64, name: String, Fetched)
  /// The object of an earlier attempt, by its path in the store, with its SHA-256. `source` is where its content once came from: a
  /// path's bytes, or of a link what may be shown of it.
  case object(path: String, sha256: [UInt8], source: [UInt8])

  /// The path of its file, as bytes; of a link, what may be shown of it.
  public var path: [UInt8] {
    switch self {
    case .file(_, let path, _, _, _), .object(_, _, let path): path
    case .link(_, let name, _): Array(name.utf8)
    }
  }

  /// The transfer that fetches it; `nil`: nothing is fetched.
  public var transfer: Int64? {
    if case .link(let transfer, _, _) = self { transfer } else { nil }
  }

  /// Whether its content is a file of the home or the store to which nothing writes, and to which others may have links: its status
  /// changes as they get one or lose one.
  public var isShared: Bool {
    switch self {
    case .file: false
    case .link, .object: true
    }
  }

  /// The path of the object that is kept until another takes its place; `nil`: there is none.
  public var keptObject: String? {
    if case .object(let path, _, _) = self { path } else { nil }
  }

  /// For people.
  public var name: String { String(decoding: path, as: UTF8.self) }
}

public struct LeasedDelivery: Sendable {
  public var key: Int64
  public var id: String
  public var channel: String
  public var recipient: String
  public var type: String
  /// The event's data, a JSON object.
  public var data: String
  public var createdAt: Int64
  public var attachmentId: String
  public var conversationId: String
  public var messageId: String

  package init(
    key: Int64, id: String, channel: String, recipient: String, type: String, data: String, createdAt: Int64,
    attachmentId: String, conversationId: String, messageId: String
  ) {
    (self.key, self.id, self.channel, self.recipient) = (key, id, channel, recipient)
    (self.type, self.data, self.createdAt) = (type, data, createdAt)
    (self.attachmentId, self.conversationId, self.messageId) = (attachmentId, conversationId, messageId)
  }
}

/// The result of a lease.
public struct Settlement: Sendable {
  public var job: JobKey
  public var token: Token
  public var ending: Ending

  public init(_ lease: Lease, _ ending: Ending) {
    job = lease.job
    token = lease.token
    self.ending = ending
  }

  /// Whether an attachment has reached its final state.
  public var isEnd: Bool { if case .attachment = ending { true } else { false } }

  public enum Ending: Sendable {
    /// The attachment has reached its state.
    indirect case attachment(EndedAttachment)
    /// The attachment's stages have said all but what those at the end say, and it waits until its children have ended.
    indirect case expanded(EndedAttachment)
    /// The attachment is to be tried again after so many milliseconds, and the attempt counts.
    case again(key: Int64, after: Int64, crashed: Bool, attempt: Int, steps: [Step])
    /// The attachment is to be tried again. The fault is the host's, so the attempt does not count.
    case putOff(key: Int64, after: Int64, attempt: Int, steps: [Step])
    /// The lease is given back unused: the job is due again and the attempt is not counted.
    case released
    case delivered(key: Int64)
    case deliveryAgain(key: Int64, after: Int64, reason: Reason)
    /// The delivery has used up its attempts.
    case deadLetter(key: Int64, reason: Reason)
    /// The content of a link lies in the transfer's file, whole. Who waits for it goes on.
    case fetched(key: Int64, FetchedContent)
    /// The transfer is to be tried again after so many milliseconds.
    case transferAgain(key: Int64, after: Int64, isCounted: Bool, TransferState, Reason)
    /// It begins again at 0: what had come was wrong.
    case transferRestarts(key: Int64, Reason)
    /// The link cannot be fetched. Who waits for it ends with this reason.
    case notFetched(key: Int64, Reason, isRejected: Bool)
    /// What was fetched is in no place any more: it is fetched again, and the attachment waits for that.
    case fetchAgain(key: Int64, transfer: Int64)

    /// What is recorded of an attachment that has ended, or waits for its children.
    public var attachment: EndedAttachment? {
      switch self {
      case .attachment(let ended), .expanded(let ended): ended
      default: nil
      }
    }
  }
}

/// An attachment in its final state, with everything that the same transaction records.
public struct EndedAttachment: Sendable {
  public var key: Int64
  public var origin: AttachmentOrigin
  public var outcome: AttachmentOutcome
  public var attempt: Int
  public var steps: [Step]
  public var events: [OutgoingEvent]
  /// The priority of the job; the deliveries of the attachment inherit it.
  public var priority: Int64
  /// The fingerprint of the stages, with their bases, that the content passed first, if they promise equal
  /// results for equal content.
  public var fingerprint: String?
  /// The transfer that fetched its content; `nil`: none did.
  public var transfer: Int64?
  /// The path of the object of an earlier attempt; `nil`: there is none.
  public var keptObject: String?
  /// The names of the objects beside it that this attempt has staged. The others are on record with equal content.
  public var stagedDerived: Set<String>
  /// The texts of staged objects, for searches.
  public var texts: [ContentText] = []
  /// What was taken out of its content, and how much of that is allowed.
  public var children: [NewChild] = []
  public var limits = ExpandRules()

  public init(
    _ attachment: LeasedAttachment, _ outcome: AttachmentOutcome, attempt: Int, steps: [Step],
    events: [OutgoingEvent], priority: Int64 = 0, fingerprint: String? = nil,
    stagedDerived: Set<String> = []
  ) {
    self.stagedDerived = stagedDerived
    (key, origin, transfer) = (attachment.key, attachment.origin, attachment.source.transfer)
    keptObject = attachment.source.keptObject
    self.outcome = outcome
    self.attempt = attempt
    self.steps = steps
    self.events = events
    self.priority = priority
    self.fingerprint = fingerprint
  }
}

/// The text of a derived object that a stage took out of a content.
public struct ContentText: Sendable, Equatable {
  public var sha256: [UInt8]
  public var text: String

  /// - Parameter bytes: hostile; invalid UTF-8 in them is replaced.
  public init(sha256: [UInt8], _ bytes: some Collection<UInt8>) {
    self.sha256 = sha256
    text = String(decoding: bytes.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
  }

  /// The bytes of a text that are kept.
  public static let longest = 64 << 10

  /// Whether searches look at an object: a text of the stage `text` or `mail`.
  public static func isOne(name: String, mediaType: String) -> Bool {
    ["text", "body"].contains(name) && mediaType == "text/plain"
  }
}

/// A content that was taken out of another, to be taken in as an attachment of the same message.
public struct NewChild: Sendable {
  /// The upload with its content, which is there and synced.
  public var uploadId: String
  /// The path of that file.
  public var source: [UInt8]
  public var sizeBytes: Int64
  public var sha256: [UInt8]
  /// Nanoseconds since 1970.
  public var modified: Int64
  /// As the content that it was in says: hostile.
  public var fileName: String
  public var declaredType: String?

  public init(
    uploadId: String, source: [UInt8], sizeBytes: Int64, sha256: [UInt8], modified: Int64, fileName: String,
    declaredType: String?
  ) {
    self.sha256 = sha256
    (self.uploadId, self.source, self.sizeBytes) = (uploadId, source, sizeBytes)
    (self.modified, self.fileName, self.declaredType) = (modified, fileName, declaredType)
  }
}

/// An event for the outbox: one delivery for each recipient on each channel.
public struct OutgoingEvent: Sendable {
  public var type: String
  public var data: String
  public var channels: [String]
  public var recipients: [String]

  public init(type: String, data: String, channels: [String], recipients: [String]) {
    self.type = type
    self.data = data
    self.channels = channels
    self.recipients = recipients
  }
}
