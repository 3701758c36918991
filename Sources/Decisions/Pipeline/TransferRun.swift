/// Decides what becomes of a transfer after each of its attempts. The scheduler drives it; it knows neither clock nor files.
public struct TransferRun: Sendable {
  /// What is next.
  public enum Next: Sendable, Equatable {
    /// It is to be tried again after so many milliseconds, and goes on where it was. One that came further, or that the place or a
    /// person stopped, is no attempt.
    case again(after: Int64, isCounted: Bool, Reason)
    /// What had come is wrong: it begins at 0.
    case restart(Reason)
    /// The lane stops with this reason, until the program tries again or a person lets it go on; this is no attempt.
    case pause(Reason, needsHand: Bool)
    /// The link cannot be fetched.
    case failed(Reason, isRejected: Bool)
    /// The whole content is here, as its digest says.
    case fetched
  }

  /// Of the lane, as reasons name it.
  public static let stage = "downloads"

  /// Faults of the place that do not pass by themselves.
  private static let needHands: Set<String> = ["disk-full", "unauthorized"]
  /// What a source says where the server does not give the content: 401 without a credential, 403, 404, 410, or an answer that
  /// names the time of the link.
  private static let refusals: Set<String> = ["unauthorized", "forbidden", "gone", "expired"]
  /// The reason of a transfer whose link is not taken any more. What had come is kept for a new link.
  public static let expired = "link-expired"
  /// What a source says of one that it gives back before it has asked for it.
  private static let notAsked = "not-asked"
  /// How often content that was not what was asked for is fetched again from 0.
  private static let restartLimit = 1

  private let retry: RetryPolicy
  /// The number of this attempt among those that count.
  private let attempt: Int
  /// How often it was begun again at 0.
  private let restarts: Int
  /// A random number in 0...1.
  private let jitter: Double

  public init(_ retry: RetryPolicy, attempt: Int, restarts: Int, jitter: Double) {
    self.retry = retry
    self.attempt = attempt
    self.restarts = restarts
    self.jitter = jitter
  }

  /// After what the source said, other than that all is there.
  ///
  /// - Parameters:
  ///   - hasProgressed: synced bytes came in this attempt.
  ///   - mayHaveExpired: the link is valid for a time only, which may be over.
  public func next(_ said: StageResult, hasProgressed: Bool, mayHaveExpired: Bool = false) -> Next {
    var reason = Reason(
      stage: Self.stage, code: said.code ?? "unexplained",
      message: said.message ?? "the source gives no reason")
    if mayHaveExpired && said.verdict == .fail && Self.refusals.contains(reason.code) {
      reason.code = Self.expired
      reason.message += "; the link was valid for a time only, so give a new one: `sluice refresh`"
    }
    switch said.verdict {
    case .pass: return .fetched
    case .reject: return .failed(reason, isRejected: true)
    case .fail: return .failed(reason, isRejected: false)
    case .retry:
      if reason.code == Self.notAsked { return .again(after: 0, isCounted: false, reason) }
      if said.pausesLane { return .pause(reason, needsHand: Self.needHands.contains(reason.code)) }
      return again(reason, hasProgressed: hasProgressed, notBefore: said.retryAfter)
    }
  }

  /// After its worker ended.
  ///
  /// - Parameter isCulprit: the transfer is what it ended on.
  public func nextAfterDeath(_ reason: Reason, isCulprit: Bool, hasProgressed: Bool) -> Next {
    if !isCulprit { return .again(after: 0, isCounted: false, reason) }
    return again(reason, hasProgressed: hasProgressed, notBefore: nil)
  }

  /// After all that the source fetched was hashed.
  ///
  /// - Parameter sha256: as hexadecimal digits, like the one that was announced.
  public func next(
    size: Int64, sha256: String, expectedSize: Int64?, expectedSHA256: String?
  ) -> Next {
    if let expectedSize, expectedSize != size {
      return mismatch("size-mismatch", "it has \(size) bytes, and \(expectedSize) were announced")
    }
    if let expectedSHA256, expectedSHA256 != sha256 {
      return mismatch("hash-mismatch", "its SHA-256 is \(sha256), and \(expectedSHA256) was announced")
    }
    return .fetched
  }

  private func mismatch(_ code: String, _ message: String) -> Next {
    let reason = Reason(
      stage: Self.stage, code: code,
      message: message
        + "; where that is wrong, delete the attachment and hand in the link with what is right")
    return restarts < Self.restartLimit ? .restart(reason) : .failed(reason, isRejected: false)
  }

  private func again(_ reason: Reason, hasProgressed: Bool, notBefore: Int64?) -> Next {
    // What comes further is on its way: only tries that bring nothing use up the attempts.
    if hasProgressed {
      return .again(
        after: max(retry.wait(before: 2, jitter: jitter), notBefore ?? 0), isCounted: false, reason)
    }
    guard let delay = retry.delay(after: attempt, jitter: jitter) else {
      return .failed(reason, isRejected: false)
    }
    return .again(after: max(delay, notBefore ?? 0), isCounted: true, reason)
  }
}
