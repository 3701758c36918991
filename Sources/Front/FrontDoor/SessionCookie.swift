import FrontWire
import Pipeline

/// The cookie by which a page stays signed in (RFC 6265). Scripts cannot read it, and other sites cannot have it sent.
enum SessionCookie {
  private static let name = "sluice_session"
  /// The field that a request with a cookie needs. No form can send it, and no page of another origin may.
  static let guardField = "x-csrf"

  /// The token of a request's cookie; `nil`: there is none.
  static func token(_ request: FrontRequest) -> String? {
    for field in request.values("cookie") {
      for part in field.split(separator: ";") {
        let pair = part.split(separator: "=", maxSplits: 1)
        guard pair.count == 2, pair[0].drop(while: { $0 == " " }) == name else { continue }
        return String(pair[1])
      }
    }
    return nil
  }

  /// Has the client keep a token, or forget it.
  ///
  /// - Parameter seconds: 0: it forgets.
  static func field(_ token: String, seconds: Int64, _ rules: ServeRules) -> FrontRequest.Pair {
    let place = rules.publicURL ?? ""
    let path = place.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst(2).first
    let isSecure = place.hasPrefix("https://") ? "; Secure" : ""
    return .init(
      "Set-Cookie",
      "\(name)=\(token); Path=/\(path.map(String.init) ?? ""); Max-Age=\(seconds); HttpOnly; SameSite=Strict\(isSecure)"
    )
  }
}
