import StageKit

/// Identifies the content by its SHA-256, without parsing it.
struct Digest: Stage {
  static let about = About(
    id: "digest", version: "1.0.0", summary: "Computes the SHA-256 of the whole content.",
    keys: ["sha256": "The SHA-256 of the content, as 64 lower-case hexadecimal digits."],
    codes: [
      "source-changed": "The content is not as long as it was when it was measured.",
      "unreadable": "The system cannot read the content.",
      "no-sha256": "OpenSSL offers no SHA-256, or could not finish it.",
    ])

  private let hash: ContentHash

  init(_ opening: Opening) throws(Outcome) {
    hash = try ContentHash()
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    attachment.annotate("sha256", try hash.digest(of: attachment))
  }
}

private let exported = Exported(Digest.self)

/// The plugin's one exported function.
@c(digest_stage)
public func digest_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
