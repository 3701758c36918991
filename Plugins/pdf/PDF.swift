import PDFDocument
import StageKit

/// Opens a PDF, counts its pages, and records its metadata.
struct PDF: Stage {
  static let about = About(
    id: "pdf", version: "1.0.0", summary: "Admits PDFs that open, by page count and encryption.",
    keys: [
      "pdf.pages": "The number of pages.",
      "pdf.version": "The version of the format, such as `1.7`.",
      "pdf.encrypted": "Whether it is encrypted, with or without a password to open it.",
      "pdf.linearized": "Whether it is laid out for viewing while it loads.",
      "pdf.title": "Its title.",
      "pdf.author": "Its author.",
      "pdf.subject": "Its subject.",
      "pdf.keywords": "Its keywords.",
      "pdf.creator": "The program the original was made with.",
      "pdf.producer": "The program that made the PDF.",
      "pdf.created": "When it was made, in UTC (RFC 3339).",
      "pdf.modified": "When it was last changed, in UTC (RFC 3339).",
      "pdf.javascript": "Whether it holds JavaScript.",
      "pdf.attachments": "The number of files embedded in it.",
      "pdf.forms":
        "`none`, `acroform` or `xfa`; one whose definition is compressed may count as a lesser kind.",
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
  private let encryption = Encryption()
  private let scripts = Scripts()

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
    let pages = Int64(document.pageCount)
    guard pages > 0 else { throw .reject("pdf-damaged", "the PDF opens, but has no pages") }
    guard let page = document.page(0) else {
      throw .reject(
        "pdf-damaged",
        "the PDF claims \(pages == 1 ? "1 page" : "\(pages) pages"), but the first one does not load")
    }
    attachment.annotate("pdf.pages", pages)
    if let maxPages, pages > maxPages {
      throw .reject("too-many-pages", "\(pages) pages, and \(maxPages) are allowed")
    }
    let names = Names(in: bytes)
    attachment.annotate("pdf.version", document.version)
    attachment.annotate("pdf.encrypted", encryption.isThere(in: document, bytes, names))
    describe(document, page, names, hasScript: scripts.areThere(in: document, bytes, names), to: attachment)
  }

  private func describe(
    _ document: borrowing Document, _ page: borrowing Page, _ names: Names, hasScript: Bool,
    to attachment: Attachment
  ) {
    attachment.annotate("pdf.linearized", document.isLinearized)
    for entry in Document.Entry.allCases {
      if let text = document.text(entry) { attachment.annotate("pdf.\(entry.rawValue)", text) }
    }
    for moment in Document.Moment.allCases {
      if let date = document.date(moment) { attachment.annotate("pdf.\(moment.rawValue)", date) }
    }
    attachment.annotate("pdf.javascript", hasScript)
    attachment.annotate("pdf.attachments", Int64(document.attachmentCount))
    attachment.annotate("pdf.forms", forms(page, names))
    if let size = page.size {
      attachment.annotate("pdf.width", size.width)
      attachment.annotate("pdf.height", size.height)
    }
  }

  private func forms(_ page: borrowing Page, _ names: Names) -> String {
    if names.contains(.form) { return names.contains(.xfa) ? "xfa" : "acroform" }
    return names.mayBeCompressed && page.hasFormFields ? "acroform" : "none"
  }
}

private let exported = Exported(PDF.self)

/// The plugin's one exported function.
@c(pdf_stage)
public func pdf_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
