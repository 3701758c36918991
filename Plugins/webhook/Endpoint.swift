import CCurl
import StageKit

/// The URL of a webhook, checked by the same parser that will be used to connect.
struct Endpoint {
  let url: String
  /// A name in lower case, or an address without brackets.
  let host: String
  let isSecure: Bool

  init(_ url: String) throws(Outcome) {
    func refusal(_ reason: String) -> Outcome { .fail("invalid-options", "url: \(reason)") }
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw refusal("has a space or a character outside ASCII; write names in their xn-- form, others as %XX")
    }
    guard let parsed = curl_url() else { throw refusal("no memory") }
    defer { curl_url_cleanup(parsed) }
    let result = curl_url_set(parsed, CURLUPART_URL, url, 0)
    guard result == CURLUE_OK else {
      throw refusal("\(String(cString: curl_url_strerror(result))); give http or https")
    }
    guard let scheme = Self.part(CURLUPART_SCHEME, of: parsed), ["http", "https"].contains(scheme) else {
      throw refusal("only http and https are allowed")
    }
    // Credentials in the URL would appear in messages and in the ledger.
    if Self.part(CURLUPART_USER, of: parsed) != nil || Self.part(CURLUPART_PASSWORD, of: parsed) != nil {
      throw refusal("has a user name; the signature is what proves who sends")
    }
    guard let host = Self.part(CURLUPART_HOST, of: parsed), !Self.normal(host).isEmpty else {
      throw refusal("has no host")
    }
    // The parser has turned %XX into bytes.
    guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw refusal("has a host outside ASCII; write names in their xn-- form")
    }
    self.url = url
    self.host = Self.normal(host)
    isSecure = scheme == "https"
  }

  /// The host in lower case and without the root's trailing dot, so that equal names compare equal.
  static func normal(_ host: String) -> String {
    var host = Substring(host.lowercased())
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.hasSuffix(".") { host = host.dropLast() }
    return String(host)
  }

  private static func part(_ part: CURLUPart, of parsed: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parsed, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
