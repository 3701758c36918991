import CCurl
import Glibc
import Outbound
import StageKit

/// The libcurl handle of one transfer, used for one request after the other.
final class Request {
  let handle: UnsafeMutableRawPointer
  let gate: AddressGate
  private let certificates: Certificates?
  private let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var headers: UnsafeMutablePointer<curl_slist>?
  private(set) var isOnOwnConnection = false

  /// Bytes that are read at a time.
  static let bufferSize = 128 << 10

  /// `nil`: libcurl has no memory.
  init?(_ settings: Settings, certificates: Certificates?) {
    guard let handle = curl_easy_init() else {
      reason.deallocate()
      return nil
    }
    self.handle = handle
    self.certificates = certificates
    gate = AddressGate(settings.admission.addresses)
    reason.pointee = 0
    if configure(settings).contains(where: { $0 != CURLE_OK }) { return nil }
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
    reason.deallocate()
  }

  /// Sets the options that all requests share. Cookies, credentials from ~/.netrc, caches of HSTS and alternative services, and
  /// answers in HTTP/0.9 are off by default, and so is decoding of content.
  private func configure(_ settings: Settings) -> [CURLcode] {
    // With a low rate, less is taken at a time.
    let buffer = settings.rate > 0 ? Int(settings.rate / 20) : Self.bufferSize
    var results = [
      sluice_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
      sluice_curl_set_text(handle, CURLOPT_USERAGENT, "sluice"),
      sluice_curl_set_text(handle, CURLOPT_PROXY, ""),  // ignore the environment's proxy, too
      sluice_curl_set_number(handle, CURLOPT_FOLLOWLOCATION, 0),
      sluice_curl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectTimeout)),
      sluice_curl_set_number(handle, CURLOPT_BUFFERSIZE, min(max(buffer, 1024), Self.bufferSize)),
      sluice_curl_set_number(handle, CURLOPT_NOSIGNAL, 1),
      sluice_curl_set_number(handle, CURLOPT_FORBID_REUSE, settings.reusesConnections ? 0 : 1),
      sluice_curl_set_number(handle, CURLOPT_SSL_VERIFYPEER, 1),
      sluice_curl_set_number(handle, CURLOPT_SSL_VERIFYHOST, 2),
      sluice_curl_set_number(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
      // Otherwise a request that times out during a name lookup waits for the system's resolver.
      sluice_curl_set_number(handle, CURLOPT_QUICK_EXIT, 1),
      sluice_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, reason),
    ]
    results += certificates?.install(on: handle) ?? []
    return results + gate.install(on: handle)
  }

  /// Prepares the next request. The body must stay valid until it has ended. Returns false if there is no memory.
  func ready(_ question: Question, credentials: [String], body: UnsafeRawBufferPointer?) -> Bool {
    curl_slist_free_all(headers)
    headers = nil
    reason.pointee = 0
    gate.startAfresh(for: question.link.host)
    var lines = ["Accept-Encoding: identity"] + (question.resume?.headers ?? []) + credentials
    if question.method == .post {
      lines.append("Expect:")
      if !credentials.contains(where: { $0.lowercased().hasPrefix("content-type:") }) {
        lines.append("Content-Type:")
      }
    }
    for line in lines {
      guard let longer = curl_slist_append(headers, line) else { return false }
      headers = longer
    }
    var results = [
      sluice_curl_set_text(handle, CURLOPT_URL, question.link.text),
      sluice_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headers),
    ]
    switch question.method {
    case .get: results.append(sluice_curl_set_number(handle, CURLOPT_HTTPGET, 1))
    case .post:
      results.append(sluice_curl_set_number(handle, CURLOPT_POST, 1))
      results.append(sluice_curl_set_number(handle, CURLOPT_POSTFIELDSIZE, body?.count ?? 0))
      // libcurl would read a body without a pointer from standard input.
      results.append(sluice_curl_set_pointer(handle, CURLOPT_POSTFIELDS, body?.baseAddress ?? Self.noBody))
    }
    return results.allSatisfy { $0 == CURLE_OK }
  }

  /// Lives as long as the process.
  nonisolated(unsafe) private static let noBody = UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))

  /// What libcurl says of a failed secure connection. It may name the host; a text that could hold a part of the link is not told.
  func tlsReason(_ result: CURLcode) -> String {
    let general = String(cString: curl_easy_strerror(result))
    let text = String(cString: reason)
    let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x2F }
    return text.isEmpty || text.utf8.count > 200 || !isPlain ? general : text
  }

  /// Whether the last request went out on the connection of an earlier one.
  var usedKnownConnection: Bool {
    var count = 0
    return sluice_curl_get_number(handle, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK && count == 0
  }

  /// Has all further requests go out on new connections.
  func useOwnConnection() {
    isOnOwnConnection = sluice_curl_set_number(handle, CURLOPT_FRESH_CONNECT, 1) == CURLE_OK
  }

  /// Whether libcurl says so. The sentence itself may quote the server.
  var hasBrokenChunks: Bool { strstr(reason, "chunked-encoding") != nil }

  /// Why there was no connection, as an errno; 0: not known.
  var systemError: Int32 {
    var number = 0
    return sluice_curl_get_number(handle, CURLINFO_OS_ERRNO, &number) == CURLE_OK ? Int32(number) : 0
  }

  /// Whether the answer came from an address of the public Internet.
  var isFromPublicAddress: Bool {
    var text: UnsafePointer<CChar>?
    guard sluice_curl_get_text(handle, CURLINFO_PRIMARY_IP, &text) == CURLE_OK, let text,
      let address = IPAddress(String(cString: text))
    else { return false }
    return address.isGlobal
  }
}
