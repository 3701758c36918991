/// Content that is to be fetched. All but the name of its host is secret.
public struct Link: Sendable, Hashable {
  public var url: String
  /// `GET`, `POST`.
  public var method: String
  /// What a `POST` sends.
  public var body: String?
  /// The name of a credential in the pipeline; `nil`: that of the lane, if it has one.
  public var credential: String?
  /// Bytes that the content has; `nil`: not known.
  public var size: Int64?
  /// Of the content; `nil`: not known.
  public var sha256: [UInt8]?
  /// The media type that is expected; `nil`: not known.
  public var declaredType: String?
  /// Until when servers take the link, in milliseconds since 1970; `nil`: not known. It is no part of what makes two links the same.
  public var expiresAt: Int64?
  /// Who alone shares what is fetched, and how that went; `nil`: all who ask for the same.
  public var scope: String?

  public init(
    url: String, method: String = "GET", body: String? = nil, credential: String? = nil, size: Int64? = nil,
    sha256: [UInt8]? = nil, declaredType: String? = nil, expiresAt: Int64? = nil, scope: String? = nil
  ) {
    self.url = url
    self.method = method
    self.body = body
    self.credential = credential
    self.size = size
    self.sha256 = sha256
    self.declaredType = declaredType
    self.expiresAt = expiresAt
    self.scope = scope
  }

  /// What may be shown of it: `https://files.example.com/…`.
  public var name: String {
    guard let place = LinkPlace(url) else { return "a link" }
    return "\(place.text)/…"
  }

  /// Why it cannot be fetched at all, on any network; `nil`: it may be.
  package var fault: String? {
    if LinkPlace(url) == nil { return placeFault }
    if method != "GET" && method != "POST" {
      return "its method is '\(method)', and GET and POST are allowed"
    }
    if body != nil && method != "POST" { return "it has a body, and its method is not POST" }
    if let size, size < 0 { return "its size is \(size)" }
    if let sha256, sha256.count != 32 { return "its sha256 is not 64 hexadecimal digits" }
    return nil
  }

  /// Why its url says no place. It shows nothing of it, which may be a secret.
  private var placeFault: String {
    if url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }) {
      return
        "its url has a space, a control character or a backslash, which links write as %20, %5C and so on"
    }
    let start = url.prefix(8).lowercased()
    if !start.hasPrefix("http://") && !start.hasPrefix("https://") {
      return "its url begins with neither http:// nor https://"
    }
    return "its url names no host, or a port that is none from 1 to 65535"
  }
}
