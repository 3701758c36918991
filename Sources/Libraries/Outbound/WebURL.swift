import CCurl

/// An http or https URL, checked by the same parser that will be used to connect.
public struct WebURL: Sendable {
  /// As given, with bytes beyond ASCII as `%XX`; one that was joined, or whose host was written in other letters, as libcurl
  /// writes it.
  public let text: String
  /// A name in lower case, in its `xn--` form where it has other letters, or an address without brackets.
  public let host: String
  public let port: Int
  public let isSecure: Bool
  /// With its `?` taken off; empty: none.
  public let query: String

  /// Why a text is no usable URL. The sentence repeats nothing of the URL, which may hold secrets.
  public struct Fault: Error, Sendable {
    public let reason: String
    /// It is a user name or a password.
    public var isCredential = false
  }

  /// The longest URL, in bytes.
  public static let limit = 16 << 10

  public init(_ text: String) throws(Fault) {
    try self.init(text, after: nil)
  }

  /// Another URL, perhaps relative to this one (RFC 3986, section 5).
  public func joined(_ reference: String) throws(Fault) -> WebURL {
    try WebURL(reference, after: self)
  }

  private init(_ text: String, after base: WebURL?) throws(Fault) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw Fault(reason: "has a space or a control character; write them as %XX")
    }
    let text = Self.escaped(text)
    guard text.utf8.count <= Self.limit else { throw Fault(reason: "has more than \(Self.limit) bytes") }
    guard let parsed = curl_url() else { throw Fault(reason: "no memory") }
    defer { curl_url_cleanup(parsed) }
    if let base, curl_url_set(parsed, CURLUPART_URL, base.text, 0) != CURLUE_OK {
      throw Fault(reason: "no memory")
    }
    let result = curl_url_set(parsed, CURLUPART_URL, text, 0)
    let scheme = Self.part(CURLUPART_SCHEME, of: parsed) ?? "http"
    guard result != CURLUE_UNSUPPORTED_SCHEME, result != CURLUE_OK || ["http", "https"].contains(scheme)
    else {
      throw Fault(reason: "has a scheme that is neither http nor https")
    }
    guard result == CURLUE_OK else {
      throw Fault(reason: "cannot be read as one: \(String(cString: curl_url_strerror(result)))")
    }
    // Credentials in the URL would appear in messages and in the ledger.
    if Self.part(CURLUPART_USER, of: parsed) != nil || Self.part(CURLUPART_PASSWORD, of: parsed) != nil {
      throw Fault(reason: "has a user name or a password, which are not taken from URLs", isCredential: true)
    }
    guard let written = Self.part(CURLUPART_HOST, of: parsed), !HostName.normal(written).isEmpty else {
      throw Fault(reason: "has no host")
    }
    // The parser has turned %XX into bytes.
    let isPlain = written.utf8.allSatisfy { $0 < 0x80 }
    let host = isPlain ? written : CurlLibrary.asciiHost(of: parsed) ?? ""
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      isPlain || curl_url_set(parsed, CURLUPART_HOST, host, 0) == CURLUE_OK
    else {
      throw Fault(reason: "has a host that is no name")
    }
    guard
      let port = Self.part(CURLUPART_PORT, of: parsed, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) })
    else {
      throw Fault(reason: "has no port")
    }
    self.text = base == nil && isPlain ? text : Self.part(CURLUPART_URL, of: parsed) ?? text
    self.host = HostName.normal(host)
    self.port = port
    isSecure = scheme == "https"
    query = Self.part(CURLUPART_QUERY, of: parsed) ?? ""
  }

  /// Whether scheme, host and port are the same.
  public func hasOrigin(of other: WebURL) -> Bool {
    isSecure == other.isSecure && host == other.host && port == other.port
  }

  /// RFC 3987, section 3.1: characters beyond ASCII are written as the bytes of their UTF-8.
  private static func escaped(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      byte < 0x80 ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func part(_ part: CURLUPart, of parsed: OpaquePointer, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parsed, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
