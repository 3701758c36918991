import StageKit

/// Determines the media type from the content, admits or rejects by it, and records where the sender's claims
/// disagree.
struct Mime: Stage {
  static let about = About(
    id: "mime", version: "1.1.0", summary: "Finds the media type from the content and admits by media type.",
    keys: [
      "mime.magic": "The media type libmagic finds in the content.",
      "mime.declared": "The media type the sender declared, if any.",
      "mime.extension": "The extension of the file name, in lower case, if it has a plain one.",
      "mime.mismatch":
        "Whether the declared type, or what the extension stands for, disagrees with the content.",
      "mime.also": "Other media types whose header is in the first KiB, joined by a space: a polyglot.",
      "mime.charset":
        "The encoding of a text, as the Encoding Standard calls it, by its mark, what is declared, what it says of itself, or its letters; `unknown` where that is not sure.",
      "mime.database": "The version of libmagic and its database.",
    ],
    codes: [
      "type-not-allowed": "The media type is not in `allow`, or is in `deny`.",
      "unreadable": "The system cannot read the content.",
      "magic-failed": "libmagic has no answer for this content.",
      "magic-unavailable": "libmagic or its database does not load.",
    ])

  static let allow = Option<[String]>.mediaTypes(
    "allow", help: "Media types that pass; every type does where this is left out.")
  static let deny = Option<[String]>.mediaTypes(
    "deny", help: "Media types that do not pass, even if `allow` has them.")
  static let options: [any OptionDeclaration] = [allow, deny]

  private let magic: MagicDatabase
  private let head = Head()
  private let charset = TextCharset()
  private let allow: [String]
  private let deny: [String]

  init(_ opening: Opening) throws(Outcome) {
    allow = opening[Self.allow]
    deny = opening[Self.deny]
    magic = try MagicDatabase()
    opening.repeatable(on: "libmagic \(magic.version), \(MagicDatabase.files)")
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    let found = try magic.mediaType(of: attachment)
    attachment.setMediaType(found)
    attachment.annotate("mime.magic", found)
    attachment.annotate("mime.database", magic.version)
    compareClaims(of: attachment, with: found)
    if let name = try charset.name(of: attachment, found) { attachment.annotate("mime.charset", name) }
    let also = Polyglot.types(in: try head.read(attachment), besides: found)
    if !also.isEmpty { attachment.annotate("mime.also", also.joined(separator: " ")) }
    try admit(found)
  }

  private func compareClaims(of attachment: Attachment, with found: String) {
    var agree = true
    if let declared = attachment.declaredType {
      attachment.annotate("mime.declared", plainText(declared, limit: 255))
      // The type that clients send if they do not know it carries no information.
      if let mediaType = declaredMediaType(declared), mediaType != "application/octet-stream" {
        agree = Families.agree(claimed: mediaType, found: found)
      }
    }
    if let fileExtension = fileExtension(attachment.fileName) {
      attachment.annotate("mime.extension", fileExtension)
      agree = agree && Extensions.agree(fileExtension, found: found)
    }
    attachment.annotate("mime.mismatch", !agree)
  }

  private func admit(_ found: String) throws(Outcome) {
    if let pattern = deny.first(where: { matches($0, found) }) {
      throw .reject("type-not-allowed", "the content is \(found), which `deny` lists as \(pattern)")
    }
    guard allow.isEmpty || allow.contains(where: { matches($0, found) }) else {
      throw .reject(
        "type-not-allowed", "the content is \(found), and allowed are \(allow.joined(separator: ", "))")
    }
  }

  /// Like the contract's `matches`, which tests the type an earlier stage found, for the type found here.
  private func matches(_ pattern: String, _ mediaType: String) -> Bool {
    let pattern = pattern.lowercased()
    return pattern == "*/*" || pattern == mediaType.lowercased()
      || pattern.hasSuffix("/*") && mediaType.lowercased().hasPrefix(pattern.dropLast())
  }
}

private let exported = Exported(Mime.self)

/// The plugin's one exported function.
@c(mime_stage)
public func mime_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
