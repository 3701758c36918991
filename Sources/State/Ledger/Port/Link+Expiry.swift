// Links that are valid for a time only.
extension Link {
  /// Whether a server that does not give its content may mean the link, and not the content: its time is over, or it is signed.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func mayHaveExpired(at now: Int64) -> Bool {
    if let expiresAt, expiresAt <= now { return true }
    return Self.isSigned(url)
  }

  /// Whether a link carries the parameters by which storage services sign links for a time: those of S3 and of Google, `sig` with
  /// `se` of Azure, `Expires` with `Signature` of CloudFront and of older signatures.
  static func isSigned(_ url: String) -> Bool {
    let query = url.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
    let names = Set(query.split(separator: "&").map { $0.prefix { $0 != "=" }.lowercased() })
    return names.contains("x-amz-signature") || names.contains("x-goog-signature")
      || names.isSuperset(of: ["sig", "se"]) || names.isSuperset(of: ["expires", "signature"])
  }
}
