import StageKit

/// The result of a request.
enum Answer {
  /// An HTTP status, and the wait in seconds that the endpoint asks for; 0: none.
  case status(Int, wait: Int64)
  /// All addresses of the endpoint are refused; with a sentence about one of them.
  case refused(String)
  /// No complete answer, with the reason; `isGeneral`: other events would fail in the same way.
  case none(String, isGeneral: Bool)

  /// The longest wait an endpoint may ask for, in seconds: the longest of the default schedule.
  private static let longestWait: Int64 = 86_400

  /// The outcome for the event; `nil`: delivered.
  ///
  /// "2xx: Success. 3xx: Failure. 410 Gone: Sender should disable the webhook endpoint" (Standard Webhooks
  /// 1.0.0, "Delivery success and failure"). Retry-After is from RFC 9110, section 10.2.3, in either of its
  /// forms.
  var outcome: Outcome? {
    switch self {
    case .status(200..<300, _): nil
    case .status(410, _):
      .pause(
        "endpoint-gone", "the endpoint answered 410: it wants no more events; resume when that has changed")
    case .status(let status, let wait) where wait > Self.longestWait:
      .retry(
        "endpoint-refused",
        "the endpoint answered \(status) and asks to wait longer than a day; it is asked again after a day",
        after: Self.longestWait * 1000)
    case .status(let status, let wait) where wait > 0:
      .retry(
        "endpoint-refused", "the endpoint answered \(status) and asks to wait \(wait) s", after: wait * 1000)
    case .status(let status, _) where 300..<400 ~= status:
      .retry(
        "endpoint-refused",
        "the endpoint answered \(status); redirects are not followed, so give their target")
    case .status(let status, _): .retry("endpoint-refused", "the endpoint answered \(status)")
    case .refused(let sentence): .fail("address-not-allowed", sentence)
    case .none(let reason, _): .retry("unreachable", reason)
    }
  }

  /// The outcome for the events that wait; `nil`: they are sent.
  ///
  /// An endpoint that is gone, asks for time or times out would answer each of them alike, and waiting for
  /// each in turn would take a quarter of an hour.
  var outcomeForOthers: Outcome? {
    switch self {
    case .status(410, _), .none(_, isGeneral: true): break
    case .status(429, let wait), .status(503, let wait): if wait <= 0 { return nil }
    default: return nil
    }
    guard let outcome else { return nil }
    let message = "not sent, after the event before it: \(outcome.message)"
    return outcome.pausesLane
      ? .pause(outcome.code, message) : .retry(outcome.code, message, after: outcome.retryAfter)
  }
}
