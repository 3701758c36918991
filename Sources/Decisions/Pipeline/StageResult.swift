/// What one stage said of an attachment.
public struct StageResult: Sendable, Equatable {
  /// Its place among the stages of its group.
  public var index: Int
  public var verdict: Verdict
  public var code: String?
  public var message: String?
  public var microseconds: Int64
  /// With ``Verdict/retry``: not before so many milliseconds.
  public var retryAfter: Int64?
  /// With ``Verdict/retry``: the fault is the place's, and not the attachment's.
  public var pausesLane: Bool

  public init(
    index: Int, verdict: Verdict, code: String? = nil, message: String? = nil, microseconds: Int64 = 0,
    retryAfter: Int64? = nil, pausesLane: Bool = false
  ) {
    self.index = index
    self.verdict = verdict
    self.code = code
    self.message = message
    self.microseconds = microseconds
    self.retryAfter = retryAfter
    self.pausesLane = pausesLane
  }
}

/// An event to record with the outcome, for each recipient of its audience.
public struct Emission: Sendable, Equatable {
  public enum Audience: UInt32, Sendable {
    case participants = 1, sender, everyone
  }

  public var type: String
  public var channel: String
  public var audience: Audience

  public init(type: String, channel: String, audience: Audience) {
    self.type = type
    self.channel = channel
    self.audience = audience
  }
}

/// What the stages of a group that had their turn said of an attachment, all together.
public struct StageReport: Sendable, Equatable {
  /// In the order in which they ran. A stage whose condition did not hold is not listed.
  public var results: [StageResult] = []
  public var metadata: [Metadatum] = []
  public var mediaType: String?
  /// Where the object lies below the store.
  public var location: String?
  public var emissions: [Emission] = []
  /// The last of them has made new content.
  public var produced = false

  public init() {}
}

/// One turn of one stage, as it is recorded.
public struct Step: Sendable, Equatable {
  public var stage: String
  /// The stage's, or the name of how its worker ended.
  public var verdict: String
  public var code: String?
  public var message: String?
  public var microseconds: Int64

  public init(stage: String, verdict: String, code: String?, message: String?, microseconds: Int64) {
    self.stage = stage
    self.verdict = verdict
    self.code = code
    self.message = message
    self.microseconds = microseconds
  }
}
