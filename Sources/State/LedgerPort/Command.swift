import Pipeline

/// Something that changes the ledger, asked for by a shell, a client or the scheduler itself. Applied by the one writer in
/// its next transaction.
public enum Command: Sendable {
  /// Queues files.
  case takeIn([IntakeItem])
  case lane(LaneCommand)
  case attachment(AttachmentCommand)
  case delivery(DeliveryCommand)
  case refresh(RefreshCommand)
  case token(TokenCommand)
  case upload(UploadCommand)
  case record(RecordedCheck)
  case conversation(ConversationCommand)
  case user(UserCommand)
}

/// A content that was judged and is not kept, to be put on record as an attachment that has ended. The result is that of an intake.
public struct RecordedCheck: Sendable {
  /// What is known of it besides; no link. Its source lies at ``place``, so that it is not tried again: there is no content.
  public var item: IntakeItem
  /// Neither queued nor with an object.
  public var outcome: AttachmentOutcome
  public var steps: [Step]

  /// Where the sources of checks lie: nothing can be there.
  public static let place = "/dev/null/"

  public init(_ item: IntakeItem, _ outcome: AttachmentOutcome, steps: [Step]) {
    (self.item, self.outcome, self.steps) = (item, outcome, steps)
  }
}

public struct LaneCommand: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    case pause(Pause)
    /// Lifts the pauses of this cause; `nil`: of every.
    case resume(Pause.Cause?)
    /// Makes due at once what waits for later.
    case hasten
  }

  public var lane: LaneName
  public var action: Action

  public init(_ lane: LaneName, _ action: Action) {
    self.lane = lane
    self.action = action
  }
}

/// Changes what becomes of an attachment. What is done already is not done again.
public struct AttachmentCommand: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    /// Queues it again where it has ended and was not completed; makes it due at once where it waits for later, or was cancelled
    /// and has not ended yet.
    case retry
    /// The same, and works on one that is completed again. Its object is read for that, and stays until another takes its place. One
    /// whose object a stage has made of what came is refused.
    case reprocess
    /// Takes it back, for this reason: a sentence without its full stop. It ends as cancelled, once a coordinator has told the
    /// stages at the end.
    case cancel(String)
    /// Of those that are due, the one with the highest priority is next.
    case prioritize(Int64)
    /// Takes away all that is of it, for good, on behalf of this person. A tombstone without content stays, by which the same file
    /// is known. By retention nobody has said that a file is to stay away: one that was not completed is taken in again, since it
    /// would otherwise seem to be in order from then on.
    case delete(by: String, isRetention: Bool = false)
  }

  public var attachmentId: String
  public var action: Action
  /// Only if it has one of these statuses; `nil`: any. So what has changed since a person looked is left as it is.
  public var only: Set<Status>?

  public init(_ attachmentId: String, _ action: Action, only: Set<Status>? = nil) {
    self.attachmentId = attachmentId
    self.action = action
    self.only = only
  }
}

/// Changes what becomes of a delivery.
public struct DeliveryCommand: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    /// Queues a dead or dropped one again; makes one due at once that waits for later.
    case retry
    /// Gives it up, for good.
    case drop
  }

  /// Its place in the ledger, and its id, which is the same on each channel.
  public var key: Int64
  public var deliveryId: String
  public var action: Action

  public init(key: Int64, _ deliveryId: String, _ action: Action) {
    self.key = key
    self.deliveryId = deliveryId
    self.action = action
  }
}

/// Gives the transfer of an attachment a new link to the same bytes, and makes those that share it wait for it again.
public struct RefreshCommand: Sendable, Equatable, CustomStringConvertible {
  public var attachmentId: String
  /// A secret but for its host.
  public var url: String
  /// Until when servers take it, in milliseconds since 1970; `nil`: not known.
  public var expiresAt: Int64?

  public init(_ attachmentId: String, url: String, expiresAt: Int64? = nil) {
    self.attachmentId = attachmentId
    self.url = url
    self.expiresAt = expiresAt
  }

  /// Without what is secret, so that no log or trace has it.
  public var description: String { "a new link, \(Link(url: url).name), for \(attachmentId)" }
}

/// What became of a command.
public enum CommandResult: Sendable, Equatable {
  case takenIn(IntakeReport)
  /// It is done, or was so before: then nothing has changed.
  case done(hasChanged: Bool)
  /// It was not done, for this reason: a sentence without its full stop.
  case refused(String)
  case conversation(ConversationResult)
  case user(UserResult)
}
