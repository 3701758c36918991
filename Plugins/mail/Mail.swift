import CGMime
import StageKit

/// Takes a mail apart: its headers become metadata, its text an object beside it, and its attachments contents of their own.
struct Mail: Stage {
  static let about = About(
    id: "mail", version: "1.4.0",
    summary: "Takes the text and the attachments out of mails, and records their headers.",
    derives: true, expands: true,
    keys: [
      "mail.subject": "The subject, decoded.",
      "mail.from": "Who wrote it, decoded; up to 50 addresses.",
      "mail.to": "To whom; up to 50 addresses.",
      "mail.cc": "To whom it is copied; up to 50 addresses.",
      "mail.date": "When it was written, as it says: RFC 3339 with its own offset.",
      "mail.message-id": "Its id, without the angle brackets.",
      "mail.parts":
        "The number of its parts, those among them that hold others; of a mailbox file that of its mails.",
      "mail.attachments": "The number of contents that were taken out.",
      "mail.bytes": "The bytes of these contents.",
      "mail.charset": "The charset of the text, as it says.",
      "mail.unconverted": "A charset that is not known: the text in it is kept as it was.",
    ],
    codes: [
      "damaged":
        "It has no header of a mail, no parts where it should have some, two types, an unknown encoding, or one that programs decode in different ways; or it is a `winmail.dat` that cannot be read.",
      "too-many-parts": "It has more parts than `max-parts` allows, or more than the pipeline takes.",
      "too-deep": "Its parts are nested deeper than `max-depth` allows.",
      "too-large": "Its contents are larger than `max-bytes` or the pipeline allows.",
      "unreadable": "The system cannot read the content.",
      "source-changed": "The content was changed since it was measured.",
      "not-written": "The system does not take the contents.",
      "out-of-memory": "The mail does not fit into the memory the stage may use.",
    ])

  static let maxParts = Option<Int64>.integer(
    "max-parts", default: 1000, help: "The most parts, those among them that hold others."
  ).within(1...100_000)
  static let maxDepth = Option<Int64>.integer(
    "max-depth", default: 30, help: "How deep parts may be nested in others."
  ).within(0...1000)
  static let maxBytes = Option<Int64>.bytes(
    "max-bytes", default: "256MB", help: "The most bytes of all contents that are taken out."
  ).within(1...(1 << 40))
  static let all = Option<Bool>.boolean(
    "all", default: false,
    help:
      "Whether a mail needs no type and no name, and its text is judged as a content: for doors of mail servers."
  )
  static let options: [any OptionDeclaration] = [maxParts, maxDepth, maxBytes, all]

  private let recognition: Recognition
  private let limits: Limits
  private let charsets: Charsets
  private let content = Content()

  init(_ opening: Opening) throws(Outcome) {
    recognition = Recognition(takesAll: opening[Self.all])
    limits = Limits(
      parts: Int(opening[Self.maxParts]), depth: Int(opening[Self.maxDepth]),
      bytes: Int(opening[Self.maxBytes]))
    charsets = Charsets()
    Parsed.prepare()
  }

  /// Content that is no mail passes as it is.
  func process(_ attachment: Attachment) throws(Outcome) {
    let isMail = try recognition.isMail(attachment)
    let isPacked = try recognition.isPacked(attachment)
    guard isMail || isPacked else { return }
    try content.read(attachment)
    defer { content.release() }
    if TNEF.begins(content.bytes) { return try unpack(attachment) }
    if !isMail { return }
    let isMailbox = recognition.isMailbox(attachment)
    let mailbox = Mbox(content.bytes, isDeclared: isMailbox, atMost: limits.parts + 1)
    if mailbox.messages.count > limits.parts { throw limits.tooManyParts }
    let start = MailStart(content.bytes)
    if recognition.demandsHeader(attachment), !start.isHeader { throw Self.damaged }
    // A mail that begins with a blank line has no header. Where one follows, programs that show mails read it all the same. The line of
    // a mailbox before it is no part of it: to GMime, the next line that begins so would be its end.
    let begin = start.isHeader ? MailStart.behindMailboxLine(in: content.bytes, from: start.offset) : 0
    let bytes = UnsafeRawBufferPointer(rebasing: content.bytes[begin...])
    var extraction = Extraction(attachment, bytes, limits, charsets, givesText: recognition.takesAll)
    defer { extraction.annotate() }
    // What follows the first one would otherwise be passed over by all that read mails.
    if mailbox.messages.count > 1 {
      try extraction.run(mailbox)
      // To a program that takes it for one mail, all of it is that.
      if isMailbox { return }
    }
    try limits.checkBoundaries(in: bytes)
    if start.isHeader { try FieldCheck.check(headerAt: 0, of: bytes) }
    let boundary = Array("\r--".utf8)
    if sluice_contains(bytes.baseAddress, bytes.count, boundary, boundary.count) != 0 {
      throw FieldCheck.loneReturn
    }
    guard let parsed = Parsed(bytes) else { throw Self.damaged }
    Headers(parsed, bytes, charsets.words).annotate(attachment)
    try extraction.run(parsed)
  }

  private func unpack(_ attachment: Attachment) throws(Outcome) {
    guard let packed = try? TNEF(content.bytes, atMost: limits.parts + 1) else {
      throw .reject("damaged", "it begins as a mail that Outlook packs, and does not go on as one")
    }
    if packed.files.count + packed.message.texts > limits.parts { throw limits.tooManyParts }
    var extraction = Extraction(attachment, content.bytes, limits, charsets, givesText: recognition.takesAll)
    defer { extraction.annotate() }
    try extraction.run(packed)
  }

  private static var damaged: Outcome { .reject("damaged", "it has no header of a mail") }
}

private let exported = Exported(Mail.self)

/// The plugin's one exported function.
@c(mail_stage)
public func mail_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
