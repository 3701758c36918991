import Pipeline
import Wire
import Workers

/// One attachment or event for one stage, with the facts that the pipeline would have passed to the stage.
public struct Trial {
  /// Serial number, stages and the facts of the content are filled in when the trial is run.
  public var work: Work
  /// `nil` for stages at the end and channels.
  public var content: Content?

  /// Ids that are the same every time, so that results can be compared.
  public init(fileName: String, content: Content?) {
    work = Work(
      AttachmentOrigin(
        id: "00000000-0000-7000-8000-000000000001", conversationId: "conversation", messageId: "message",
        senderId: "sender", fileName: fileName),
      serial: 0, first: 0, end: 1, attempt: 1)
    self.content = content
  }
}

/// A stage's answer to a trial, or how its worker ended.
public struct TrialResult {
  /// Of the contract, or the name of how the worker ended: `timed-out`, `over-limit`, `crashed`.
  public var verdict: String
  public var code: String?
  public var message: String?
  /// The media type that later stages would see.
  public var mediaType: String?
  public var metadata: [Metadatum] = []
  public var emissions: [Emission] = []
  /// Where the object lies below the store.
  public var location: String?
  public var produced: Produced?
  public var pieces = TrialPieces()
  /// With `retry`: the earliest retry, in milliseconds from now.
  public var retryAfter: Int64?
  /// With `retry`: the fault lies with the target, such as a full disk, and not with the attachment.
  public var pausesLane = false
  /// The time spent in the stage alone, without communication with the worker.
  public var microseconds: Int64 = 0
  public var trace: [TraceLine] = []
  /// How the worker died during this trial, if it did.
  public var death: WorkerDeath?

  /// New content.
  public struct Produced {
    public var content: Content
    public var sha256: String
  }

  public init(verdict: String) {
    self.verdict = verdict
  }

  public var isPassed: Bool { verdict == Verdict.pass.name }
}
