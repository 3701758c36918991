import Pipeline

/// The right to work on a job, with its fencing token.
public struct Lease: Sendable {
  public var job: Int64
  public var token: Int64
  /// The number of this attempt, from 1. Earlier attempts may have taken effect.
  public var attempt: Int
  /// The number of attempts that count against the job, this one included.
  public var counted: Int
  /// How many workers died while working on this job.
  public var crashes: Int
  /// How many coordinators ended while this job was leased and later jobs were finished; see
  /// `SQL.takeBackLeases`.
  public var suspicions: Int
  public var priority: Int64
  public var work: LeasedWork
}

/// The work that a lease grants.
public enum LeasedWork: Sendable {
  case attachment(LeasedAttachment)
  case delivery(LeasedDelivery)
}

public struct LeasedAttachment: Sendable {
  public var key: Int64
  public var origin: AttachmentOrigin
  /// A JSON array of texts, as the ledger keeps it.
  public var participants: String
  public var source: [UInt8]
  public var sourceSize: Int64
  public var sourceModified: Int64
  /// The device that the source's folder was on when it was taken in; `nil`: not known.
  public var folderDevice: Int64?
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
}

/// The result of a lease.
public struct Settlement: Sendable {
  public var job: Int64
  public var token: Int64
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
    case attachment(EndedAttachment)
    /// The attachment is to be tried again, and the attempt counts.
    case again(key: Int64, dueAt: Int64, crashed: Bool, attempt: Int, steps: [Step])
    /// The attachment is to be tried again. The fault is the host's, so the attempt does not count.
    case putOff(key: Int64, dueAt: Int64, attempt: Int, steps: [Step])
    /// The lease is given back unused: the job is due again and the attempt is not counted.
    case released
    case delivered(key: Int64)
    case deliveryAgain(key: Int64, dueAt: Int64, reason: Reason)
    /// The delivery has used up its attempts.
    case deadLetter(key: Int64, reason: Reason)
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

  public init(
    _ attachment: LeasedAttachment, _ outcome: AttachmentOutcome, attempt: Int, steps: [Step],
    events: [OutgoingEvent], priority: Int64 = 0, fingerprint: String? = nil
  ) {
    (key, origin) = (attachment.key, attachment.origin)
    self.outcome = outcome
    self.attempt = attempt
    self.steps = steps
    self.events = events
    self.priority = priority
    self.fingerprint = fingerprint
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
