/// By what storage services say that a signed link is too old, where the status alone does not say so.
///
/// | service | status | code in the body | source |
/// | --- | --- | --- | --- |
/// | S3, link too old | 403 | `AccessDenied` ("Request has expired") | Amazon S3 API Reference, "Error responses" |
/// | S3, session token too old | 400 | `ExpiredToken`, `TokenRefreshRequired` | the same |
/// | Google Cloud Storage, V2 and V4 | 400 | `ExpiredToken` | Cloud Storage XML API, "HTTP status and error codes" |
/// | Cloudflare R2 | 400, later 403 | `ExpiredRequest` | Cloudflare R2, "Error codes" |
/// | Azure Blob Storage | 403 | `AuthenticationFailed` | Azure Storage REST API, "Common REST API error codes" |
/// | CloudFront | 403 | `AccessDenied` | CloudFront Developer Guide, "Use signed URLs" |
/// | OpenStack Swift | 401 | none; "Temp URL invalid" | Swift, `middleware/tempurl.py` |
///
/// A status 401, 403, 404 or 410 is enough for a link that is signed. A status 400 has many other reasons, so its body must
/// name one of the codes.
enum ExpiryCode {
  /// The most of a body that is looked at, in bytes. The code comes first in all of them.
  static let limit = 4 << 10

  private static let codes: Set<String> = ["ExpiredToken", "ExpiredRequest", "TokenRefreshRequired"]

  /// The code in the first element `Code` of an XML body; `nil`: another one, or none.
  static func found(in body: [UInt8]) -> String? {
    let text = String(decoding: body.prefix(limit), as: UTF8.self)
    let element = text.split(separator: "<").first { $0.hasPrefix("Code>") }
    guard let code = element.map({ String($0.dropFirst(5)) }), codes.contains(code) else { return nil }
    return code
  }
}
