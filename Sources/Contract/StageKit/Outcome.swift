/// Anything but a pass: what a stage throws.
///
/// The code is one of those its ``About`` lists; the message is a sentence for the person who reads the result and
/// names what was found and what was allowed.
public struct Outcome: Error, Sendable {
  /// Of the contract: `SLUICE_REJECT` and so on.
  public let verdict: sluice_verdict
  /// For programs: one of those the stage lists.
  public let code: String
  /// For people, at most 1,000 bytes.
  public let message: String
  /// With a retry: not before so many milliseconds from now.
  public var retryAfter: Int64?
  /// With a retry: the fault is the place's, and the lane pauses until someone resumes it.
  public var pausesLane = false

  /// Policy says no. Final.
  public static func reject(_ code: String, _ message: String) -> Outcome {
    Outcome(verdict: SLUICE_REJECT, code: code, message: message)
  }

  /// A passing fault: the attempt is repeated later, as the pipeline's `retry` says, or not before `after` milliseconds.
  public static func retry(_ code: String, _ message: String, after: Int64? = nil) -> Outcome {
    Outcome(verdict: SLUICE_RETRY, code: code, message: message, retryAfter: after)
  }

  /// Broken for this input; trying again is of no use.
  public static func fail(_ code: String, _ message: String) -> Outcome {
    Outcome(verdict: SLUICE_FAIL, code: code, message: message)
  }

  /// A fault of the place (a full disk, an endpoint that is gone): nothing is counted against the attachment, and
  /// its lane pauses with this reason.
  public static func pause(_ code: String, _ message: String) -> Outcome {
    Outcome(verdict: SLUICE_RETRY, code: code, message: message, pausesLane: true)
  }

  private init(
    verdict: sluice_verdict, code: String, message: String, retryAfter: Int64? = nil, pausesLane: Bool = false
  ) {
    self.verdict = verdict
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
    self.pausesLane = pausesLane
  }
}
