import StageKit

/// What clamd is asked about one attachment: its version, where that is not known, and the content.
final class Inquiry {
  let attachment: Attachment
  private let route: Route
  private let deadline: Deadline
  private var dialogue: Dialogue
  private var asksVersion: Bool

  /// - Parameter timeout: for all requests, in milliseconds.
  init(
    about attachment: Attachment, _ route: Route, asksVersion: Bool, timeout: Int64
  ) throws(Outcome) {
    (self.attachment, self.route, self.asksVersion) = (attachment, route, asksVersion)
    deadline = Deadline(after: timeout)
    dialogue = asksVersion ? try Dialogue(version: route) : try Dialogue(about: attachment, route)
  }

  var interest: Interest {
    var interest = dialogue.interest
    interest.until = interest.until.map { $0.earlier(of: deadline) } ?? deadline
    return interest
  }

  enum Step {
    case waits
    /// What clamd says that it is; `nil`: it does not tell (`EnableVersionCommand no`).
    case version(String?)
    case reply(Reply)
  }

  /// Gets as far as it can without waiting.
  func goOn(_ ready: Int16) throws(Outcome) -> Step {
    // Checked here and not only by poll: a peer that sends a byte now and then would never time out.
    guard !deadline.hasPassed else { throw .unavailable(dialogue.lateness) }
    guard let answer = try dialogue.goOn(ready) else { return .waits }
    if !asksVersion { return .reply(try reply(answer)) }
    // "ClamAV 1.4.6/27800/Mon Oct  6 …", program and databases.
    guard let text = Reply.text(answer.bytes) else { throw Self.notClamd(answer.bytes) }
    asksVersion = false
    dialogue = try Dialogue(about: attachment, route)
    return .version(text.hasPrefix("ClamAV ") ? String(text.prefix(200)) : nil)
  }

  private func reply(_ answer: Dialogue.Answer) throws(Outcome) -> Reply {
    switch Reply(answer.bytes) {
    case .nonsense: throw Self.notClamd(answer.bytes)
    case .clean where !answer.wasSent, .found where !answer.wasSent:
      throw .unavailable("the scanner gave its verdict before it had all of the content")
    case let reply: return reply
    }
  }

  private static func notClamd(_ answer: [UInt8]) -> Outcome {
    .unavailable(
      answer.isEmpty ? "the scanner hung up without an answer" : "the scanner's answer is none of clamd's")
  }
}
