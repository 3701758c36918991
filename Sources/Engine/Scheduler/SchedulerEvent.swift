import LedgerPort
import Pipeline
import Platform

/// What a scheduler tells while it works, on the thread that runs it.
public enum SchedulerEvent: Sendable {
  /// Commands are on record; the ticket is the one they were sent with.
  case answered([CommandResult], ticket: UInt64)
  /// Commands were not done, since the disk of the ledger is full: nothing of them is on record.
  case noRoom(ticket: UInt64)
  /// An attachment has ended, and that is durable.
  case ended(AttachmentRecord)
  /// Stages have said something of an attachment, in this order. It has not ended with that, and may be tried again. Told only where
  /// ``Scheduler/run(isResident:deliveryPatience:tellsSteps:observe:)`` was asked to.
  case steps(LeasedAttachment, [Step])
  /// An attempt did not end the attachment: it is tried again at a time (milliseconds since 1970).
  case triedAgain(id: String, reason: Reason, at: Int64)
  /// A source is out of reach through no fault of its own; told once for each place.
  case sourceAway(reason: Reason)
  case delivered(channel: String)
  case deliveryPutOff(channel: String, reason: Reason, at: Int64?)
  case lanePaused(lane: String, reason: String)
  /// A resident scheduler tries it again.
  case laneResumed(lane: String)
  /// A signal asked for the end, and this much is still in hand, with these stages and channels, and so many downloads, which
  /// do not end first. They have so many seconds to end; `nil`: as long as they take. Told at once; without a bound every five seconds.
  case stopping(inHand: Int, with: [String], downloads: Int, seconds: Int?)
  /// That time is over: this much was in hand, and is due again for the next coordinator.
  case stopped(inHand: Int)
  /// SIGHUP came while the scheduler stays: what it means is the observer's to say.
  case hangup
  /// The ledger does not answer, and is tried again; told once.
  case ledgerAway(String)
  /// Something the user is to know, that stops nothing.
  case problem(String)
  /// A stage logged a warning or an error. The id is the attachment's; for a channel the delivery's.
  case remark(LogLevel, stage: String, id: String, attachmentId: String, text: String)
  /// What the workers do, for who has asked.
  case atWork(WorkersAtWork)
  /// What is fetched, four times a second and where something begins: of a run that ends by itself, or that tells of each stage.
  case downloads(DownloadsAtWork)
  /// A result came for a lease that was lost; it was not counted.
  case staleResult
  /// About ten times a second, and whenever nothing happens.
  case tick
}

/// How a run of the scheduler ended.
public struct SchedulerSummary: Sendable {
  /// Lanes that are paused, with the reason.
  public var pausedLanes: [(lane: String, reason: String, cause: Pause.Cause)] = []
  /// Where attachments wait for their source, with how many; the most frequent first.
  public var awaitedPlaces: [AwaitedPlace] = []
  /// A signal asked for the end before all was done.
  public var wasStopped = false
  /// It ended so that another scheduler goes on with the same intake.
  public var wasHandedOver = false
  /// That signal came before all that was to be taken in was.
  public var isIntakeCut = false
  /// The parts of the sandbox that every worker had, as bits; `nil`: no worker was ready.
  public var sandbox: UInt32?

  /// A folder or file that is out of reach.
  public struct AwaitedPlace: Sendable {
    public var place: String
    public var message: String
    /// What lets its attachments fail where it never comes back, as the end of a sentence.
    public var giveUp: String
    public var attachments = 0
  }
}

/// What a scheduler cannot go on with.
public struct SchedulerError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// A stage does not open, or the sandbox is not to be had.
    case configuration
    /// The ledger cannot be written.
    case ledger(LedgerError)
    /// An object cannot be given its path.
    case store
    /// The home is no longer where it was.
    case home
    /// The system refuses the coordinator itself something.
    case system(SystemError)
  }

  public let code: Code
  public let description: String
  /// The lane whose stage does not open any more: it was open before in this run, so that the others may go on; `nil`: none can.
  let lane: LaneName?

  public init(_ code: Code, _ description: String) { self.init(code, description, of: nil) }

  init(_ code: Code, _ description: String, of lane: LaneName?) {
    (self.code, self.description, self.lane) = (code, description, lane)
  }

  init(_ error: SystemError) {
    self.init(.system(error), error.advice)
  }

  init(_ error: LedgerError) {
    self.init(.ledger(error), error.description)
  }
}
