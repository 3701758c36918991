/// One stage's result for an attachment.
public struct StageResult: Sendable, Equatable {
  /// Its place among the stages of its group.
  public var index: Int
  public var verdict: Verdict
  public var code: String?
  public var message: String?
  public var microseconds: Int64
  /// With ``Verdict/retry``: the earliest retry, in milliseconds from now.
  public var retryAfter: Int64?
  /// With ``Verdict/retry``: the fault lies with the environment and not with the attachment.
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

/// The results of those stages of a group that ran for an attachment.
public struct StageReport: Sendable, Equatable {
  /// In the order in which they ran. A stage whose condition did not hold is left out.
  public var results: [StageResult] = []
  public var metadata: [Metadatum] = []
  public var mediaType: String?
  /// The object's path below the store.
  public var location: String?
  public var emissions: [Emission] = []
  /// Their warnings and errors for the operator.
  public var remarks: [Remark] = []
  /// The last stage that ran has made new content.
  public var produced = false
  /// What they have written beside the content, in order.
  public var pieces: [Piece] = []
  /// Where the list of them lies in the file that has them, in bytes; `nil`: there are none.
  public var pieceList: Range<Int64>?
  /// The number of the file that has them, among those of the attempt.
  public var pieceFile = 0

  public init() {}
}

/// One run of one stage, as recorded.
public struct Step: Sendable, Equatable {
  /// The message of a stage that was not run again.
  public static let repeated = "as for equal content"

  public var stage: String
  /// The stage's verdict, or the name of how its worker ended.
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

  /// The message for users, who are not told what equal content has met before.
  public var messageForUser: String? { message == Self.repeated ? nil : Reason.forUser(code) ?? message }
}

/// How much a line in the log matters. The numbers are those of the contract (`SLUICE_LOG_…`).
public enum LogLevel: UInt32, Sendable, Comparable, CaseIterable {
  case debug = 0, info, warning, error

  public var name: String {
    switch self {
    case .debug: "debug"
    case .info: "info"
    case .warning: "warning"
    case .error: "error"
    }
  }

  public static func < (first: LogLevel, second: LogLevel) -> Bool { first.rawValue < second.rawValue }
}

/// A line that a stage logs for the operator, of level `info` or above. It decides nothing.
public struct Remark: Sendable, Equatable {
  /// The stage's place among the stages of its group.
  public var index: Int
  public var level: LogLevel
  public var text: String

  /// The most that one piece of work may cause, and the most bytes in each.
  public static let limits = (count: 16, length: 1000)

  public init(index: Int, level: LogLevel, text: String) {
    self.index = index
    self.level = level
    self.text = text
  }
}
