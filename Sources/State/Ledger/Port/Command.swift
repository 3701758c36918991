import Pipeline

/// Something that changes the ledger, asked for by a shell, a client or the scheduler itself. Applied by the one writer in
/// its next transaction.
public enum Command: Sendable {
  /// Queues files.
  case takeIn([IntakeItem])
  case lane(LaneCommand)
  case retry(RetryCommand)
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

/// Queues an attachment again that was not completed, or makes it due at once where it waits for later.
public struct RetryCommand: Sendable, Equatable {
  public var attachmentId: String

  public init(_ attachmentId: String) {
    self.attachmentId = attachmentId
  }
}

/// What became of a command.
public enum CommandResult: Sendable, Equatable {
  case takenIn(IntakeReport)
  /// It is done, or was so before: then nothing has changed.
  case done(hasChanged: Bool)
  /// It was not done, for this reason: a sentence without its full stop.
  case refused(String)
}

/// The result of taking in a batch.
public struct IntakeReport: Sendable, Equatable {
  public var added = 0
  /// Files that were known already: the same file under the same message.
  public var known = 0
  /// Of the known ones, how many have ended and were not completed.
  public var knownNotCompleted = 0
  /// The items that were refused, with reasons.
  public var problems: [String] = []

  public init() {}

  /// Adds another batch's.
  public mutating func add(_ other: IntakeReport) {
    added += other.added
    known += other.known
    knownNotCompleted += other.knownNotCompleted
    problems += other.problems
  }
}
