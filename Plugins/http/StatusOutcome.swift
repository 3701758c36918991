import Outbound
import StageKit

/// What an answer without content means.
enum StatusOutcome {
  static func of(_ head: AnswerHead, _ question: Question, now: Int64) -> Outcome {
    let (host, status) = (question.link.host, head.status)
    switch status {
    case 401 where question.isTrusted && question.isRedirected:
      // Any server can redirect to this one: it must not stop the lane.
      return .fail("unauthorized", "\(host), to which another server redirects, answered 401")
    case 401 where question.isTrusted:
      return .pause(
        "unauthorized", "\(host) answered 401 though a credential went along: renew it, then resume the lane")
    case 401:
      return .fail("unauthorized", "\(host) answered 401, and no credential is configured for it")
    case 403, 404, 410:
      return status == 403
        ? .fail("forbidden", "\(host) answered 403")
        : .fail("gone", "\(host) answered \(status): it does not have the content")
    case 511:
      return .retry("captive-portal", "the network wants a login (511, in the place of \(host))")
    case 408, 425, 429, 500, 502...504, 506...510, 512..<600:
      let wait = RetryAfter.milliseconds(head.text("retry-after"), now: now)
      let asks = wait.map { " and asks to wait \($0 / 1000) s" } ?? ""
      return .retry("server-busy", "\(host) answered \(status)\(asks)", after: wait)
    case 204, 205:
      return .fail("refused", "\(host) answered \(status): there is no content")
    case 304:
      return .fail("refused", "\(host) answered 304 (not modified), which was not asked for")
    default:
      return .fail("refused", "\(host) answered \(status)")
    }
  }
}
