import Outbound
import StageKit

/// What is asked first for a transfer, once it is known to be usable. No sentence repeats any of it but the host.
struct FirstQuestion {
  let question: Question
  /// Headers for trusted hosts.
  let credentials: [String]
  let trusted: HostPatterns

  /// Headers that are this plugin's own, or would change how the answer is to be read.
  private static let reserved: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-connection", "range", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]

  init(_ transfer: Transfer, _ settings: Settings) throws(Outcome) {
    guard let method = Question.Method(rawValue: transfer.method) else {
      throw .fail("invalid-link", "the method is neither GET nor POST")
    }
    let link: WebURL
    do throws(WebURL.Fault) { link = try WebURL(transfer.url) } catch {
      throw .fail("invalid-link", "the link \(error.reason)")
    }
    if let refusal = settings.admission.refusal(of: link) { throw refusal }
    credentials = transfer.headers
    for header in credentials { try Self.check(header) }
    trusted = HostPatterns(transfer.trustedHosts)
    var question = Question(link: link, method: method, form: settings.form, limit: transfer.limit)
    question.expectedSize = transfer.expectedSize
    question.knowsHash = transfer.expectedSHA256 != nil
    question.declaredType = transfer.declaredType
    if let expected = question.expectedSize, expected > question.limit {
      throw Decision.tooLarge(expected, question)
    }
    self.question = question
  }

  private static func check(_ header: String) throws(Outcome) {
    let name = header.prefix { $0 != ":" }
    guard header.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), name.utf8.count < header.utf8.count,
      !name.isEmpty, !name.contains(where: { $0 == " " || $0 == ";" })
    else { throw .fail("invalid-link", "a header of the credential is not `name: value` on one line") }
    if reserved.contains(name.lowercased()) {
      throw .fail(
        "invalid-link", "the credential sets the header '\(name.lowercased())', which is not its own")
    }
  }
}
