import Pipeline
import Platform

/// Which attachments are meant: those that answer to all that is said. Empty, it is all of them.
public struct AttachmentFilter: Sendable, Equatable {
  /// `nil`: any.
  public var ids: Set<String>?
  public var statuses: Set<Status> = Set(Status.allCases)
  /// The codes of which its reason has one; `nil`: any.
  public var codes: Set<String>?
  /// The stage that gave the reason.
  public var stage: String?
  /// A pattern for the media type that was found, as `GLOB` of SQLite matches it: `image/*`.
  public var mediaType: String?
  public var conversationId: String?
  /// Conversations may each have a message with this id.
  public var messageId: String?
  public var senderId: String?
  /// The client's own name for it.
  public var reference: String?
  /// The id of the attachment that it was taken out of, or what that was taken out of, and so on.
  public var parentId: String?
  /// In bytes. One whose size is not known yet answers to neither.
  public var minimumSize: Int64?
  public var maximumSize: Int64?
  /// A pattern for the file's name, as `GLOB` of SQLite matches it: `*.pdf`.
  public var fileName: String?
  /// Taken in at this time or later, in milliseconds since 1970.
  public var since: Int64?
  /// Taken in before this time, in milliseconds since 1970.
  public var until: Int64?
  /// Ended before this time, in milliseconds since 1970.
  public var endedBefore: Int64?
  /// Ended at this time or later, in milliseconds since 1970.
  public var endedSince: Int64?
  public var sha256: [UInt8]?
  /// The path of its object in the store.
  public var objectPath: String?
  /// The path of the file it came from, as bytes. No index has it: all attachments are looked at.
  public var source: [UInt8]?
  /// What this path begins with, as bytes. No index has it either.
  public var sourceStart: [UInt8]?
  /// It came as a link, whether that is fetched by now or not.
  public var hasLink = false
  /// Its link is not fetched yet.
  public var isWaitingForLink = false
  /// Its sender, or one who takes part in its message.
  public var participant: String?
  /// Pages begin with what was taken in last, and not with what was taken in first.
  public var isNewestFirst = false

  public init(statuses: Set<Status> = Set(Status.allCases)) {
    self.statuses = statuses
  }

  /// Whether all attachments are meant.
  public var isEmpty: Bool { self == AttachmentFilter() }

  /// A duration before now, a day, or a time as RFC 3339 writes it, in UTC; `nil`: it is none of them.
  public static func time(_ text: String, _ now: Int64) -> Int64? {
    if let interval = Interval(text) {
      let (time, overflow) = now.subtractingReportingOverflow(interval.milliseconds)
      return overflow ? nil : time
    }
    return Clock.milliseconds(ofTimestamp: text)
  }
}

/// An attachment that answers to a filter.
public struct AttachmentMatch: Sendable, Equatable {
  public var id: String
  public var status: Status
  public var sizeBytes: Int64

  package init(id: String, status: Status, sizeBytes: Int64) {
    (self.id, self.status, self.sizeBytes) = (id, status, sizeBytes)
  }
}

/// The state of a delivery.
public enum DeliveryStatus: String, Sendable, CaseIterable {
  case pending, delivered
  /// It has used up its attempts, or its recipient does not exist.
  case dead
  /// A person gave it up.
  case dropped
}

/// Which deliveries are meant: those that answer to all that is said.
public struct DeliveryFilter: Sendable, Equatable {
  public var statuses: Set<DeliveryStatus> = Set(DeliveryStatus.allCases)
  public var channel: String?
  /// The codes of which its last reason has one; `nil`: any.
  public var codes: Set<String>?
  /// Texts with which the id of the delivery or of its attachment begins; `nil`: any.
  public var ids: [String]?

  public init(statuses: Set<DeliveryStatus> = Set(DeliveryStatus.allCases)) {
    self.statuses = statuses
  }
}

/// What is left of an attachment that a person deleted.
public struct Tombstone: Sendable, Equatable {
  public var id: String
  public var deletedBy: String
  /// In milliseconds since 1970.
  public var deletedAt: Int64

  package init(id: String, deletedBy: String, deletedAt: Int64) {
    (self.id, self.deletedBy, self.deletedAt) = (id, deletedBy, deletedAt)
  }
}

/// Where a queued attachment stands in the queue.
public struct QueuePlace: Sendable, Equatable {
  public enum State: String, Sendable {
    case due, scheduled, leased
    /// Its link is to be fetched first.
    case waiting
    /// What was taken out of it is to end first.
    case expanded
  }

  public var state: State
  /// In how many milliseconds it is due; 0: it is.
  public var nextDue: Int64
  public var priority: Int64
  /// Attempts that were begun.
  public var attempts: Int
  /// Why its result is not wanted any more; `nil`: it is.
  public var cancellation: String?

  package init(state: State, nextDue: Int64, priority: Int64, attempts: Int, cancellation: String?) {
    (self.state, self.nextDue, self.priority) = (state, nextDue, priority)
    (self.attempts, self.cancellation) = (attempts, cancellation)
  }
}

extension AttachmentFilter {
  /// A pattern as shells have it, in the form that the ledger takes: what is not to be among the characters of a set follows `!` there,
  /// and `^` here (fnmatch(3), https://sqlite.org/lang_expr.html#glob).
  public static func glob(_ pattern: String) -> String {
    var glob = ""
    var rest = pattern[...]
    while let start = rest.firstIndex(of: "[") {
      glob += rest[...start]
      rest = rest[rest.index(after: start)...]
      if rest.first == "!" || rest.first == "^" {
        glob += "^"
        rest = rest.dropFirst()
      }
      // The first may be a bracket that ends no set.
      guard let end = rest.dropFirst().firstIndex(of: "]") else { break }
      glob += rest[...end]
      rest = rest[rest.index(after: end)...]
    }
    return glob + rest
  }
}

extension DeliveryFilter {
  /// Whether a delivery answers to it.
  package func matches(_ record: DeliveryRecord) -> Bool {
    guard statuses.contains(record.status), channel == nil || channel == record.channel,
      codes.map({ codes in record.code.map(codes.contains) ?? false }) ?? true
    else { return false }
    guard let ids else { return true }
    return ids.contains { record.id.hasPrefix($0) || record.attachmentId.hasPrefix($0) }
  }
}
