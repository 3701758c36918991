import Charsets
import PDFDocument
import StageKit

/// Replaces a PDF or a text file by its plain text, or leaves that beside it: clean UTF-8, up to a limit of pages and bytes.
struct Text: Stage {
  static let about = About(
    id: "text", version: "1.1.0", summary: "Replaces PDFs and text files by their plain text, up to a size.",
    produces: true, derives: true,
    keys: [
      "text.characters": "The number of Unicode characters in the text.",
      "text.pages": "The number of pages of a PDF that the text was taken from.",
      "text.truncated": "Whether there is, or may be, more text than was taken.",
      "text.encoding":
        "How a text file was read: the name of the Encoding Standard, such as `utf-8` or `windows-1252`; or `unknown`.",
      "text.none":
        "Why there is no text: `no-text` (a scan, an empty file), `unknown-encoding`, `encrypted` or `damaged`; the content stays.",
    ],
    codes: [
      "no-text": "There is no text in it, and `without-text` is `reject`.",
      "source-changed": "The content was changed since it was measured.",
      "unreadable": "The system cannot read the content.",
      "not-written": "The system does not take the text.",
      "out-of-memory": "The content does not fit into the memory the stage may use.",
      "poppler-unavailable": "Poppler does not work on this machine.",
    ])

  static let maxPages = Option<Int64>.integer(
    "max-pages", default: 10, help: "From how many pages of a PDF, at most, text is taken."
  ).within(1...100_000)
  static let maxBytes = Option<Int64>.bytes(
    "max-bytes", default: "256KB", help: "The most text that is taken; it is cut between characters."
  ).within(16...(64 << 20))
  static let withoutText = Option<String>.text(
    "without-text", default: "pass", help: "What becomes of content without text; `pass` leaves it as it is."
  ).among("pass", "reject")
  static let place = Option<String>.text(
    "as", default: "replace",
    help: "`replace` puts the text in the place of the content; `derived` leaves it beside it, as `text`."
  ).among("replace", "derived")
  static let options: [any OptionDeclaration] = [maxPages, maxBytes, withoutText, place]

  private let maxPages: Int
  private let maxBytes: Int
  private let rejectsWithout: Bool
  private let isDerived: Bool
  private let poppler: Poppler
  private let content = Content()
  private let converters: Converters

  init(_ opening: Opening) throws(Outcome) {
    maxPages = Int(opening[Self.maxPages])
    maxBytes = Int(opening[Self.maxBytes])
    rejectsWithout = opening[Self.withoutText] == "reject"
    isDerived = opening[Self.place] == "derived"
    poppler = try Poppler()
    converters = Converters()
  }

  /// Content of other types passes unchanged.
  func process(_ attachment: Attachment) throws(Outcome) {
    if attachment.matches("application/pdf") {
      try process(pdf: attachment)
    } else if attachment.matches("text/*") {
      try process(textFile: attachment)
    }
  }

  private func process(pdf attachment: Attachment) throws(Outcome) {
    try content.read(attachment)
    defer { content.release() }
    let taken: PDFText
    do throws(Document.Refusal) {
      taken = try PDFText(content.bytes, maxPages: maxPages, maxBytes: maxBytes)
    } catch {
      attachment.annotate("text.pages", Int64(0))
      switch error {
      case .needsPassword: return try pass(attachment, without: "encrypted", "it needs a password to open")
      case .damaged(let reason):
        return try pass(attachment, without: "damaged", "it does not open: \(reason)")
      }
    }
    attachment.annotate("text.pages", Int64(taken.pages))
    try pass(attachment, with: taken.excerpt, orElse: "none of its pages has any; is it a scan?")
  }

  private func process(textFile attachment: Attachment) throws(Outcome) {
    // A character takes at most four bytes, and the file may be anything, such as a disk image of zeros declared as text.
    try content.read(attachment, atMost: Int64(maxBytes) * 4)
    defer { content.release() }
    let isCut = attachment.size > Int64(content.bytes.count)
    let isMarkup = ["text/html", "text/xml"].contains { attachment.matches($0) }
    guard
      let file = TextFile(
        content.bytes, converters, declared: Charset.label(ofType: attachment.declaredType),
        isMarkup: isMarkup,
        maxBytes: maxBytes, isCut: isCut)
    else {
      attachment.annotate("text.encoding", "unknown")
      return try pass(attachment, without: "unknown-encoding", "it is not sure in which encoding it is")
    }
    attachment.annotate("text.encoding", file.charset.name)
    try pass(attachment, with: file.excerpt, orElse: "it is empty or blank")
  }

  private func pass(_ attachment: Attachment, with excerpt: Excerpt, orElse reason: String) throws(Outcome) {
    if excerpt.isBlank { return try pass(attachment, without: "no-text", reason) }
    attachment.annotate("text.characters", Int64(excerpt.characters))
    attachment.annotate("text.truncated", excerpt.isTruncated)
    let written = excerpt.bytes.withUnsafeBytes { bytes in
      Result { () throws(Outcome) in
        if isDerived { return try attachment.derive("text", "text/plain", bytes) }
        try attachment.replaceContent(with: bytes)
      }
    }
    try written.get()
    if !isDerived { attachment.setMediaType("text/plain") }
  }

  private func pass(_ attachment: Attachment, without kind: String, _ reason: String) throws(Outcome) {
    attachment.annotate("text.characters", Int64(0))
    attachment.annotate("text.none", kind)
    if rejectsWithout { throw .reject("no-text", "the content has no text: \(reason)") }
  }
}

private let exported = Exported(Text.self)

/// The plugin's one exported function.
@c(text_stage)
public func text_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
