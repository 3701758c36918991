import Outbound
import StageKit

/// Follows one redirect, if it may be followed.
enum Redirect {
  /// What is asked next, or why nothing is.
  ///
  /// - Parameters:
  ///   - isPublic: the answer came from an address of the public Internet.
  static func follow(
    _ question: Question, status: Int, to target: String, admission: Admission, isPublic: Bool
  ) throws(Outcome) -> Question {
    let host = question.link.host
    let link: WebURL
    do throws(WebURL.Fault) { link = try question.link.joined(target) } catch {
      throw .fail("redirect-refused", "\(host) redirects to a link that cannot be used: it \(error.reason)")
    }
    if question.link.isSecure && !link.isSecure {
      throw .fail(
        "redirect-refused", "\(host) redirects from https to http (\(link.host)), which is not followed")
    }
    if let refusal = admission.refusal(of: link) {
      throw isPublic && refusal.code == "address-not-allowed" ? portal(host) : refusal
    }
    var next = question
    next.link = link
    next.isRedirected = next.isRedirected || !link.hasOrigin(of: question.link)
    guard question.method == .post else { return next }
    switch status {
    case 303: next.method = .get
    case 307 where link.hasOrigin(of: question.link), 308 where link.hasOrigin(of: question.link): break
    default:
      throw .fail(
        "redirect-refused",
        "\(host) redirects a POST (\(status)) to \(link.host); only 303, or 307 and 308 to the same server, are followed"
      )
    }
    return next
  }

  /// A public server that redirects to a private address is rarely the server that was asked.
  static func portal(_ host: String) -> Outcome {
    .retry(
      "captive-portal", "\(host) redirects to a private address: perhaps the login page of a network")
  }

  static func tooMany(_ allowed: Int, _ host: String) -> Outcome {
    .fail("redirect-refused", "\(host) redirects once more, and \(allowed) redirects are followed")
  }
}
