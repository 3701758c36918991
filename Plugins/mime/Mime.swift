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
      "out-of-memory": "The content does not fit into the memory the stage may use.",
    ])

  static let allow = Option<[String]>.mediaTypes(
    "allow",
    help:
      "Media types that pass; every type does where this is left out. `text/plain` covers guesses among harmless texts."
  )
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
    let answer = try magic.mediaType(of: attachment)
    attachment.annotate("mime.magic", answer)
    attachment.annotate("mime.database", magic.version)
    let beginning = try head.read(attachment)
    let found = try refine(answer, attachment, beginning)
    attachment.setMediaType(found)
    compareClaims(of: attachment, with: found)
    if let name = try charset.name(of: attachment, found) { attachment.annotate("mime.charset", name) }
    let also = Polyglot.types(in: beginning, besides: found)
    if !also.isEmpty { attachment.annotate("mime.also", also.joined(separator: " ")) }
    if try admit(found, beginning) { attachment.setMediaType(Self.text) }
  }

  /// The type by what libmagic does not look at.
  private func refine(
    _ answer: String, _ attachment: Attachment, _ beginning: UnsafeRawBufferPointer
  ) throws(Outcome) -> String {
    if let type = try Structure.type(of: attachment, found: answer, head: beginning) { return type }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    guard answer == Self.text, beginning.starts(with: mark), beginning.count > mark.count else {
      return answer
    }
    let behind = try magic.mediaType(ofMarkedText: attachment)
    return Families.isText(behind) ? behind : answer
  }

  private static let text = "text/plain"

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

  /// Returns whether the content passes as plain text only, by a type that is a guess.
  private func admit(_ found: String, _ beginning: UnsafeRawBufferPointer) throws(Outcome) -> Bool {
    if let pattern = deny.first(where: { matches($0, found) }) {
      throw .reject("type-not-allowed", "the content is \(found), which `deny` lists as \(pattern)")
    }
    if allow.isEmpty || allow.contains(where: { matches($0, found) }) { return false }
    let isText = !beginning.starts(with: "#!".utf8) && !beginning.contains(0)
    guard isText, Families.isGuessAtText(found), allow.contains(where: { matches($0, Self.text) }) else {
      throw .reject(
        "type-not-allowed", "the content is \(found), and allowed are \(allow.joined(separator: ", "))")
    }
    return true
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
