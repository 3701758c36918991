import CCurl
import Glibc
import Outbound
import StageKit

/// One request at a time, on a handle that is reused.
final class Request {
  let handle: UnsafeMutableRawPointer
  private(set) var attachment: Attachment?
  private(set) var recipient = ""
  private let reception = Reception()
  private let gate: AddressGate
  private let host: String
  private let certificates: Certificates?
  private let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var headers: UnsafeMutablePointer<curl_slist>?

  init(
    to endpoint: Endpoint, policy: AddressPolicy, certificates: Certificates?, timeout: Int64
  ) throws(Outcome) {
    gate = AddressGate(policy)
    host = endpoint.host
    self.certificates = certificates
    reason.pointee = 0
    guard let handle = curl_easy_init() else {
      reason.deallocate()
      throw .fail("invalid-options", "libcurl makes no handle")
    }
    self.handle = handle
    if let refusal = configure(endpoint, timeout: timeout).first(where: { $0 != CURLE_OK }) {
      throw .fail(
        "invalid-options", "libcurl refuses an option: \(String(cString: curl_easy_strerror(refusal)))")
    }
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
    reason.deallocate()
  }

  /// Sets the options that all events share. Cookies, credentials from ~/.netrc and answers in HTTP/0.9 are
  /// off by default.
  private func configure(_ endpoint: Endpoint, timeout: Int64) -> [CURLcode] {
    var results = [
      sluice_curl_set_text(handle, CURLOPT_URL, endpoint.url),
      sluice_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
      sluice_curl_set_text(handle, CURLOPT_USERAGENT, "sluice"),
      sluice_curl_set_text(handle, CURLOPT_PROXY, ""),  // ignore the environment's proxy, too
      sluice_curl_set_number(handle, CURLOPT_FOLLOWLOCATION, 0),
      sluice_curl_set_number(handle, CURLOPT_TIMEOUT_MS, Int(timeout)),
      sluice_curl_set_number(handle, CURLOPT_SSL_VERIFYPEER, 1),
      sluice_curl_set_number(handle, CURLOPT_SSL_VERIFYHOST, 2),
      sluice_curl_set_number(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
      // Otherwise a request that times out during a name lookup waits for the system's resolver.
      sluice_curl_set_number(handle, CURLOPT_QUICK_EXIT, 1),
      sluice_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, reason),
    ]
    results += certificates?.install(on: handle) ?? []
    return results + reception.install(on: handle) + gate.install(on: handle)
  }

  /// Prepares the handle for an event, signed with the current time. The event's body must stay valid until
  /// the answer is taken.
  func ready(
    for attachment: Attachment, _ event: Event, signedWith secrets: SigningSecrets
  ) throws(Outcome) {
    let timestamp = time(nil)
    let signatures = try secrets.signatures(id: event.id, timestamp: timestamp, body: event.body)
    curl_slist_free_all(headers)
    headers = nil
    var fields = [
      "content-type: application/json", "webhook-id: \(event.id)", "webhook-timestamp: \(timestamp)",
      "webhook-signature: \(signatures)",
    ]
    if let trace = Traceparent.of(event.body) { fields.append("traceparent: \(trace)") }
    for header in fields {
      guard let longer = curl_slist_append(headers, header) else { throw .retry("unreachable", "no memory") }
      headers = longer
    }
    let results = [
      sluice_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headers),
      sluice_curl_set_number(handle, CURLOPT_POSTFIELDSIZE, event.body.count),
      sluice_curl_set_pointer(handle, CURLOPT_POSTFIELDS, event.body.baseAddress),
    ]
    if let refusal = results.first(where: { $0 != CURLE_OK }) {
      throw .retry("unreachable", String(cString: curl_easy_strerror(refusal)))
    }
    self.attachment = attachment
    recipient = event.recipient
    reason.pointee = 0
    reception.startAfresh()
    gate.startAfresh(for: host)
  }

  /// The request's answer, from libcurl's result.
  func answer(_ result: CURLcode) -> Answer {
    // The status is enough: the body beyond the limit does not matter.
    if result == CURLE_OK || reception.hasLongBody {
      var status = 0
      var wait: curl_off_t = 0
      _ = sluice_curl_get_number(handle, CURLINFO_RESPONSE_CODE, &status)
      _ = sluice_curl_get_offset(handle, CURLINFO_RETRY_AFTER, &wait)
      return .status(status, wait: wait > 0 ? Int64(wait) : foldedWait)
    }
    if let refusal = gate.refusal { return .refused(refusal) }
    if reception.hasLongHeaders {
      return .none("the answer has more than 64 KiB of headers", isGeneral: false)
    }
    let text = String(cString: reason.pointee == 0 ? curl_easy_strerror(result) : UnsafePointer(reason))
    return .none(text, isGeneral: result == CURLE_OPERATION_TIMEDOUT || result == CURLE_COULDNT_RESOLVE_HOST)
  }

  /// Seconds of a `Retry-After` whose value stands in a second line (RFC 9112, section 5.2); 0: none. libcurl reads the wait from
  /// the first line alone, and keeps the whole field.
  private var foldedWait: Int64 {
    var field: UnsafeMutablePointer<curl_header>?
    guard curl_easy_header(handle, "Retry-After", 0, UInt32(CURLH_HEADER), -1, &field) == CURLHE_OK,
      let value = field?.pointee.value
    else { return 0 }
    // What is left of the fold stands before the value.
    let text = String(cString: value).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    if let seconds = Int64(text) { return max(seconds, 0) }
    let date = Int64(curl_getdate(text, nil))
    return date < 0 ? 0 : max(date - Int64(time(nil)), 0)
  }
}
