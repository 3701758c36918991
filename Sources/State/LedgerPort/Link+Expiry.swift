// Links that are valid for a time only.
extension Link {
  /// Whether a server that does not give its content may mean the link, and not the content: its time is over, or it is signed.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func mayHaveExpired(at now: Int64) -> Bool {
    if let expiresAt, expiresAt <= now { return true }
    return Self.isSigned(url)
  }

  private static let alone: Set<String> = [
    "x-amz-signature", "x-goog-signature", "x-oss-signature", "q-signature",
  ]
  /// `Policy` of CloudFront says until when in the place of `Expires`.
  private static let together: [Set<String>] = [
    ["sig", "se"], ["expires", "signature"], ["policy", "signature", "key-pair-id"],
    ["temp_url_sig", "temp_url_expires"],
  ]

  /// Whether a link carries the parameters by which storage services sign links for a time: those of S3 and of Google, `sig` with
  /// `se` of Azure, `Expires` with `Signature` of CloudFront and of older signatures, those of Alibaba, Tencent and Swift.
  static func isSigned(_ url: String) -> Bool {
    let query = url.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
    let names = Set(query.split(separator: "&").map { $0.prefix { $0 != "=" }.lowercased() })
    return names.contains { alone.contains($0) } || together.contains { names.isSuperset(of: $0) }
  }
}
