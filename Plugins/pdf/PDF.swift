import PDFDocument
import StageKit

/// Opens a PDF, counts its pages, and records its metadata.
struct PDF: Stage {
  static let about = About(
    id: "pdf", version: "1.1.0", summary: "Admits PDFs that open, by page count and encryption.",
    keys: [
      "pdf.pages": "The number of pages in the page tree, whatever the document claims.",
      "pdf.version": "The version of the format, such as `1.7`.",
      "pdf.encrypted": "Whether it is encrypted, with or without a password to open it.",
      "pdf.linearized": "Whether it is laid out for viewing while it loads.",
      "pdf.title": "Its title, from the information dictionary or XMP, as are the texts and dates below.",
      "pdf.author": "Its author.",
      "pdf.subject": "Its subject.",
      "pdf.keywords": "Its keywords.",
      "pdf.creator": "The program the original was made with.",
      "pdf.producer": "The program that made the PDF.",
      "pdf.created": "When it was made, in UTC (RFC 3339). Missing if the date does not parse.",
      "pdf.modified": "When it was last changed, in UTC (RFC 3339). Missing if the date does not parse.",
      "pdf.javascript":
        "Whether an event, a link, a field or an annotation can run JavaScript. XFA forms may have scripts besides.",
      "pdf.attachments":
        "The number of files embedded in it: listed, associated with it or its pages, or attached to a page.",
      "pdf.forms": "`none`, `acroform` or `xfa`.",
      "pdf.width": "The width of the first page as shown, in points (1/72 inch).",
      "pdf.height": "The height of the first page as shown, in points (1/72 inch).",
    ],
    codes: [
      "pdf-damaged": "It does not open, has no pages, or its first page does not load.",
      "pdf-encrypted": "It does not open without a password.",
      "too-many-pages": "It has more pages than `max-pages`.",
      "source-changed": "The content is shorter than it was when it was measured.",
      "unreadable": "The system cannot read the content.",
      "out-of-memory": "The content does not fit into the memory the stage may use.",
      "poppler-unavailable": "Poppler does not work on this machine.",
    ])

  static let maxPages = Option<Int64?>.integer("max-pages", help: "The largest number of pages that passes.")
    .within(1...Int64(Int32.max))
  static let encrypted = Option<String>.text(
    "encrypted", default: "reject",
    help: "What becomes of a PDF that needs a password to open; `allow` lets it pass."
  ).among("reject", "allow")
  static let options: [any OptionDeclaration] = [maxPages, encrypted]

  private let maxPages: Int64?
  private let allowsEncrypted: Bool
  private let poppler: Poppler
  private let content = Content()

  init(_ opening: Opening) throws(Outcome) {
    maxPages = opening[Self.maxPages]
    allowsEncrypted = opening[Self.encrypted] == "allow"
    poppler = try Poppler()
    opening.repeatable(on: "poppler \(Poppler.version)")
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    try content.read(attachment)
    defer { content.release() }
    try examine(content.bytes, of: attachment)
  }

  private func examine(_ bytes: UnsafeRawBufferPointer, of attachment: Attachment) throws(Outcome) {
    let document: Document
    do throws(Document.Refusal) {
      document = try Document(bytes)
    } catch {
      switch error {
      case .needsPassword where allowsEncrypted: return attachment.annotate("pdf.encrypted", true)
      case .needsPassword:
        throw .reject("pdf-encrypted", "the PDF needs a password to open, and none is known")
      case .damaged(let reason): throw .reject("pdf-damaged", "the PDF does not open: \(reason)")
      }
    }
    // First: poppler may repair the document on the way, and then has another dictionary or none.
    let information = document.information()
    // Before the pages are counted, so that their tree is walked once.
    let findings = document.inspect()
    let pages = Int64(document.pageCount)
    guard pages > 0 else { throw .reject("pdf-damaged", "the PDF opens, but has no pages") }
    guard document.loadsPage(0) else {
      throw .reject(
        "pdf-damaged",
        "the PDF claims \(pages == 1 ? "1 page" : "\(pages) pages"), but the first one does not load")
    }
    attachment.annotate("pdf.pages", pages)
    if let maxPages, pages > maxPages {
      throw .reject("too-many-pages", "\(pages) pages, and \(maxPages) are allowed")
    }
    attachment.annotate("pdf.version", document.version)
    attachment.annotate("pdf.encrypted", document.isEncrypted)
    attachment.annotate("pdf.linearized", document.isLinearized)
    for entry in Document.Entry.allCases {
      if let text = information[entry] { attachment.annotate("pdf.\(entry.rawValue)", text) }
    }
    attachment.annotate("pdf.javascript", findings.hasScript)
    attachment.annotate("pdf.attachments", Int64(findings.attachments))
    attachment.annotate("pdf.forms", document.form.rawValue)
    if let size = document.size(ofPage: 0) {
      attachment.annotate("pdf.width", size.width)
      attachment.annotate("pdf.height", size.height)
    }
  }
}

private let exported = Exported(PDF.self)

/// The plugin's one exported function.
@c(pdf_stage)
public func pdf_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
