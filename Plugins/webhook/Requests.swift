import CCurl
import Outbound
import StageKit

/// The requests, several at a time, and the events that wait for theirs. Connections stay open.
///
/// Events for one recipient keep their order: each starts after the one before it has ended; those of others go on meanwhile. Until
/// the endpoint has answered for the first time, or after it kept silent, one request is under way alone, so that an endpoint that does not answer costs one timeout, and its
/// name is looked up once instead of by one thread per request.
final class Requests {
  /// Requests under way at a time.
  private static let limit = 16

  private let multi: UnsafeMutableRawPointer
  private var idle: [Request] = []
  private var active: [Request] = []
  /// Not sent yet, in order.
  private var waiting: [(attachment: Attachment, event: Event)] = []
  private var ended: [(Attachment, Outcome?)] = []
  /// Whether the endpoint has answered, and has not kept silent since.
  private var isProven = false

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

  /// Whether events are under way.
  var isBusy: Bool { !active.isEmpty || !waiting.isEmpty }

  /// Takes an event, which is sent when it is its turn.
  func add(_ attachment: Attachment, _ event: Event, signedWith secrets: SigningSecrets) {
    waiting.append((attachment, event))
    start(signedWith: secrets)
    perform()
  }

  /// Waits for progress of any request or for a descriptor to be readable, and returns the outcomes of the events that have ended.
  func turn(
    wake: Int32, for milliseconds: Int64, signedWith secrets: SigningSecrets
  ) -> [(Attachment, Outcome?)] {
    start(signedWith: secrets)
    if ended.isEmpty {
      var extra = curl_waitfd(fd: wake, events: Int16(CURL_WAIT_POLLIN), revents: 0)
      let result = curl_multi_poll(
        multi, &extra, wake >= 0 ? 1 : 0, Int32(clamping: max(milliseconds, 0)), nil)
      if result == CURLM_OK { perform() } else { giveUp(result) }
      start(signedWith: secrets)
    }
    defer { ended.removeAll(keepingCapacity: true) }
    return ended
  }

  /// Sends what may be sent.
  private func start(signedWith secrets: SigningSecrets) {
    // A recipient's later event does not overtake an earlier one that waits.
    var busy = Set(active.map(\.recipient))
    var place = 0
    while place < waiting.count, active.isEmpty || isProven && active.count < Self.limit {
      let (attachment, event) = waiting[place]
      guard busy.insert(event.recipient).inserted else {
        place += 1
        continue
      }
      waiting.remove(at: place)
      do throws(Outcome) { try send(attachment, event, signedWith: secrets) } catch {
        ended.append((attachment, error))
      }
    }
  }

  private func send(
    _ attachment: Attachment, _ event: Event, signedWith secrets: SigningSecrets
  ) throws(Outcome) {
    guard let request = idle.last else { throw .retry("unreachable", "no request is free") }
    try request.ready(for: attachment, event, signedWith: secrets)
    let result = curl_multi_add_handle(multi, request.handle)
    guard result == CURLM_OK else {
      throw .retry("unreachable", String(cString: curl_multi_strerror(result)))
    }
    idle.removeLast()
    active.append(request)
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
      end(request, answer.outcome)
      if let others = answer.outcomeForOthers {
        ended += waiting.map { ($0.attachment, others) }
        waiting.removeAll()
        isProven = false
      }
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
