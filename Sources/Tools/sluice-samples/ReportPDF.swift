/// Three pages and a full Info dictionary: the ordinary case, and the base for the other samples.
struct Report {
  private var writer = PDFWriter()
  private let root: PDFReference
  private let info: PDFReference

  init() {
    let pages = writer.addPages([
      TextPage("Quarterly report", "Attachments arrived, were looked at and found their place."),
      TextPage("Figures", "January 1200, February 1350, March 1425."),
      TextPage("Outlook", "More of the same (and a little faster)."),
    ])
    // ISO 32000-1 table 317; dates as in clause 7.9.4. The title is not ASCII: it goes out as UTF-16BE.
    info = writer.add([
      "Title": .text("Quarterly report – Zürich"), "Author": .text("Ada Example"),
      "Subject": .text("Sample attachment"), "Keywords": .text("sample, report, three pages"),
      "Creator": .text("sluice-samples"), "Producer": .text("sluice-samples PDFWriter"),
      "CreationDate": .text("D:20260105093000Z"), "ModDate": .text("D:20260106101500+01'00"),
    ])
    // The catalog comes last: without its second half the file has no document in it.
    root = writer.addCatalog(pages: pages)
  }

  var file: [UInt8] { writer.file(root: root, info: info) }

  func file(security: StandardSecurityHandler) throws -> [UInt8] {
    try writer.file(root: root, info: info, security: security)
  }
}

func reportPDF() -> [UInt8] {
  Report().file
}

/// An empty user password: every reader can open the file, and conforming readers refuse what the permissions
/// exclude.
func ownerPDF() throws -> [UInt8] {
  let security = try StandardSecurityHandler(
    userPassword: "", ownerPassword: "owner", permissions: [], fileName: "owner.pdf")
  return try Report().file(security: security)
}

func secretPDF() throws -> [UInt8] {
  let security = try StandardSecurityHandler(
    userPassword: "secret", ownerPassword: "owner", permissions: .all, fileName: "secret.pdf")
  return try Report().file(security: security)
}

/// Cut so that catalog and trailer are missing, and the document cannot be rebuilt.
func damagedPDF() -> [UInt8] {
  let whole = reportPDF()
  return Array(whole.prefix(whole.count / 2))
}
