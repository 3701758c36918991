import FrontWire
import LedgerPort
import Manifest
import Pipeline
import Platform

// A link in, its content out.
extension API {
  /// Bytes of a body that is JSON.
  static let bodyLimit: Int64 = 64 << 10
  /// Seconds that an answer waits for the content; then it says where that will be.
  static let fetchTime = 60

  func fetch(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    guard fetches else {
      throw Problem(
        409, "no-downloads", "this server fetches no links",
        remedy: "add 'lanes: { downloads: { use: http } }' to its pipeline file")
    }
    let type = request.field("content-type")?.split(separator: ";").first?.lowercased()
    guard type == "application/json" else {
      throw Problem(415, "wrong-type", "the body is JSON, with 'Content-Type: application/json'")
    }
    _ = try Self.isEncoded(request)
    let waits = !request.values("prefer").contains { $0.lowercased().contains("respond-async") }
    let trace = request.traceparent
    return .body { api, bytes in try api.fetch(bytes, token, trace, waits: waits) }
  }

  private func fetch(_ body: [UInt8], _ token: AccessToken, _ trace: String?, waits: Bool) throws -> Answer {
    var defaults = IntakeDefaults()
    (defaults.senderId, defaults.participants) = (token.name, [token.name])
    defaults.checksParticipants = token.role != .user
    var item: IntakeItem
    switch lines.read(body[...], "the body", defaults) {
    case .success(let read): item = read
    case .failure(let problem): throw Problem(400, "invalid-body", "in the body: \(problem.message)")
    }
    item.traceparent = item.traceparent ?? trace
    // What one user's link brought is no other's, and neither is how that failed.
    if token.role == .user { item.linkScope = token.name }
    guard item.url != nil else { throw Problem(400, "invalid-body", "the body has no 'url'") }
    if token.role == .user {
      item.isOfUser = true
      item.isOfMember = rules.messages && item.conversationId != "default"
      let isOwn =
        ByteText(item.senderId) == ByteText(token.name)
        && item.participants.map(ByteText.init) == [ByteText(token.name)]
      guard isOwn, item.credential == nil, item.priority == 0 else {
        throw Problem(
          403, "forbidden",
          "'senderId', 'participants', 'credential' and 'priority' are for a service's token to say")
      }
    }
    if let fault = item.fault { throw Problem(400, "invalid-body", fault) }
    // Who waits for it asks for it, also where it is known and waits until somebody asks.
    if prefetches { item.priority = max(item.priority, TransferPriority.asked) }
    try check(item, token.role)
    return .commands([.takeIn([item])]) { results in
      guard case .takenIn(let report)? = results.first else { return .reply(Problem.away.reply) }
      guard let id = report.outcomes.first?.id else {
        return .reply(Problem.refused(report, token.role).reply)
      }
      let next = waits ? Answer.await(id, seconds: Self.fetchTime) : .reply(Self.accepted(id))
      if report.added > 0 { return next }
      // Who asks again for what could not be fetched wants it to be tried again.
      let again = AttachmentCommand(id, .retry, only: [.failed])
      return .commands([.attachment(again)]) { _ in next }
    }
  }

  /// It is queued, and here is where to ask for it.
  static func accepted(_ id: String, _ status: Int = 202) -> FrontReply {
    var reply = json("{\"id\":\"\(id)\",\"status\":\"queued\"}", status)
    reply.fields.append(.init("Location", "/v1/attachments/\(id)"))
    return reply
  }

  /// What has become of an attachment that was waited for.
  func fetched(_ id: String, _ request: FrontRequest, isOverdue: Bool) throws -> Answer {
    guard let record = try ledger.attachments(idPrefix: id).first(where: { $0.origin.id == id }) else {
      throw Problem.notFound
    }
    let place = FrontRequest.Pair("Content-Location", "/v1/attachments/\(id)/content")
    switch record.outcome.status {
    case .queued: return isOverdue ? .reply(Self.accepted(id)) : .await(id, seconds: Self.fetchTime)
    case .completed:
      // Ranges and conditions are for who asks for the content by its own place.
      var plain = request
      (plain.method, plain.fields) = ("GET", [])
      switch try content(record, plain) {
      case .file(var reply, let file):
        reply.fields.append(place)
        return .file(reply, file)
      case let other: return other
      }
    case .rejected, .failed, .quarantined, .cancelled:
      let isForUser = try token(of: request)?.role == .user
      let reason = isForUser ? record.outcome.reason?.forUser : record.outcome.reason
      throw Problem(
        Self.status(of: reason?.code ?? "", record.outcome.status), reason?.code ?? "fault",
        reason?.message ?? "it is \(record.outcome.status.rawValue)",
        fields: [.init("Content-Location", "/v1/attachments/\(id)")])
    }
  }

  /// The status that fits best what a stage said of a link or its content.
  private static func status(of code: String, _ status: Status) -> Int {
    switch code {
    case "invalid-link": 400
    case "unauthorized": 401
    case "forbidden", "address-not-allowed", "host-not-allowed": 403
    case "gone", "name-not-found": 404
    case "too-large-to-fetch", "too-large": 413
    case "type-not-allowed": 415
    case "timed-out", "stalled": 504
    case _ where status == .rejected || status == .quarantined || status == .cancelled: 422
    default: 502
    }
  }
}
