import CCurl
import Outbound
import StageKit

/// The requests of a batch, several at a time. Connections stay open between batches.
///
/// Events for one recipient keep their order: each starts after the one before it has ended. The first
/// request of a batch runs alone, so that an endpoint that does not answer costs one timeout, and its name is
/// looked up once instead of by one thread per request.
final class Requests {
  /// Requests under way at a time.
  private static let limit = 16

  private let multi: UnsafeMutableRawPointer
  private var idle: [Request] = []
  private var active: [Request] = []
  private var ended: [(Attachment, Outcome?)] = []
  /// Whether the endpoint has answered in this batch.
  private var isProven = false
  /// The outcome for all events not sent yet, if an answer decides about them.
  private var outcomeForOthers: Outcome?

  init(
    to endpoint: Endpoint, policy: AddressPolicy, certificates: Certificates?, timeout: Int64
  ) throws(Outcome) {
    for _ in 0..<Self.limit {
      idle.append(
        try Request(to: endpoint, policy: policy, certificates: certificates, timeout: timeout))
    }
    guard let multi = curl_multi_init() else {
      throw .fail("invalid-options", "libcurl makes no multi handle")
    }
    self.multi = multi
    // The default would keep only four connections per request under way; at the end of a batch one is under
    // way.
    _ = sluice_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, Self.limit)
  }

  deinit {
    for request in active { curl_multi_remove_handle(multi, request.handle) }
    curl_multi_cleanup(multi)
  }

  /// Sends an event when it is its turn, after at most one timeout, and does not wait for the answer.
  func start(_ attachment: Attachment, _ event: Event, signedWith secrets: SigningSecrets) throws(Outcome) {
    let recipient = event.recipient
    while outcomeForOthers == nil && !mayStart(for: recipient) { drive() }
    if let outcomeForOthers { throw outcomeForOthers }
    guard let request = idle.last else { throw .retry("unreachable", "no request is free") }
    try request.ready(for: attachment, event, signedWith: secrets)
    let result = curl_multi_add_handle(multi, request.handle)
    guard result == CURLM_OK else {
      throw .retry("unreachable", String(cString: curl_multi_strerror(result)))
    }
    idle.removeLast()
    active.append(request)
    perform()
  }

  /// Waits for all requests and returns their outcomes.
  func finish() -> [(Attachment, Outcome?)] {
    while !active.isEmpty { drive() }
    defer {
      ended.removeAll(keepingCapacity: true)
      isProven = false
      outcomeForOthers = nil
    }
    return ended
  }

  private func mayStart(for recipient: String) -> Bool {
    if active.isEmpty { return true }
    return isProven && active.count < Self.limit && !active.contains { $0.recipient == recipient }
  }

  /// Waits for progress of any request, and processes it.
  private func drive() {
    let result = curl_multi_poll(multi, nil, 0, 1000, nil)
    if result == CURLM_OK { perform() } else { giveUp(result) }
  }

  private func perform() {
    var running: Int32 = 0
    let result = curl_multi_perform(multi, &running)
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE,
        let request = active.first(where: { $0.handle == message.pointee.easy_handle })
      else { continue }
      let answer = request.answer(message.pointee.data.result)
      if case .status = answer { isProven = true }
      if let others = answer.outcomeForOthers { outcomeForOthers = others }
      end(request, answer.outcome)
    }
    if result != CURLM_OK { giveUp(result) }
  }

  private func end(_ request: Request, _ outcome: Outcome?) {
    curl_multi_remove_handle(multi, request.handle)
    active.removeAll { $0 === request }
    idle.append(request)
    if let attachment = request.attachment { ended.append((attachment, outcome)) }
  }

  /// The multi handle failed, and not a single request.
  private func giveUp(_ result: CURLMcode) {
    for request in active {
      end(request, .retry("unreachable", String(cString: curl_multi_strerror(result))))
    }
  }
}
