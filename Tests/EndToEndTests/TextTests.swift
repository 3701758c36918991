import Foundation
import Testing

/// The text stage in an ingest: its output is stored.
struct TextTests {
  private static let report = [
    "Quarterly report\nAttachments arrived, were looked at and found their place.",
    "Figures\nJanuary 1200, February 1350, March 1425.", "Outlook\nMore of the same (and a little faster).",
  ]

  @Test func thePagesOfAPDFAreStoredAsText() throws {
    let pdf = try Samples.data("report.pdf")
    let (inbox, run) = try ingest(["report.pdf": pdf])
    let record = try run.record("report.pdf")
    #expect(try stored(record, inbox) == Self.report.joined(separator: "\n"))
    #expect(record.mediaType == "text/plain")
    #expect(record.url?.hasSuffix(".txt") == true)
    #expect(record.metadata["text.pages"] == 3)
    #expect(record.metadata["text.truncated"] == false)
    #expect(try record.metadata["original.sha256"] == .text(Inbox.sha256(pdf)))
    try inbox.checkWhole(run)
  }

  @Test func pagesAndBytesAreBounded() throws {
    let pdf = try Samples.data("report.pdf")
    let (inbox, run) = try ingest(["report.pdf": pdf], "{ max-pages: 1 }")
    #expect(try stored(run.record("report.pdf"), inbox) == Self.report[0])
    #expect(try run.record("report.pdf").metadata["text.truncated"] == true)
    let (other, short) = try ingest(["report.pdf": pdf], "{ max-bytes: 20B }")
    #expect(try stored(short.record("report.pdf"), other) == "Quarterly report\nAtt")
  }

  @Test func aHugeTextFileTakesNeitherMemoryNorTime() throws {
    let line = Data("The same line over and over again, é or not.\n".utf8)
    var text = Data()
    for _ in 0..<(2 << 20) { text += line }
    #expect(text.count > 90_000_000)
    let start = Date()
    let (inbox, run) = try ingest(["long.txt": text], memory: "16MB")
    let record = try run.record("long.txt")
    let stored = try Data(stored(record, inbox).utf8)
    #expect(stored.count <= 256 << 10 && stored.count > (256 << 10) - 4)
    #expect(text.starts(with: stored))
    #expect(record.metadata["text.truncated"] == true)
    #expect(Date().timeIntervalSince(start) < 100)
    try inbox.checkWhole(run)
  }

  @Test func textInAnyEncodingBecomesCleanUTF8() throws {
    let utf16 =
      Data([0xFF, 0xFE]) + Array("Grüße\r\n😀".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let (inbox, run) = try ingest([
      "utf8.txt": Data("\u{FEFF}Grüße\rund\r\nmehr\n".utf8), "utf16.txt": utf16,
      "latin.txt": Data([0x47, 0x72, 0xFC, 0xDF, 0x65, 0x20, 0x80, 0x0A]),
      "damaged.txt": Data("Grüße aus Köln: ".utf8) + [0xFC] + Data(" und Ende".utf8),
    ])
    let expected = [
      "utf8.txt": ("Grüße\nund\nmehr\n", "utf-8"), "utf16.txt": ("Grüße\n😀", "utf-16le"),
      "latin.txt": ("Grüße €\n", "windows-1252"),
      "damaged.txt": ("Grüße aus Köln: \u{FFFD} und Ende", "utf-8"),
    ]
    for (name, (text, encoding)) in expected {
      let record = try run.record(name)
      #expect(try stored(record, inbox) == text, "\(name)")
      #expect(record.metadata["text.encoding"] == .text(encoding), "\(name)")
    }
  }

  @Test func whatHasNoTextStaysAsItIsOrIsRefused() throws {
    let files = [
      "scan.pdf": try Samples.data("too-large.pdf"), "secret.pdf": try Samples.data("secret.pdf"),
      "damaged.pdf": try Samples.data("damaged.pdf"), "blank.txt": Data(" \n\t\n".utf8),
    ]
    let reasons = [
      "scan.pdf": "no-text", "secret.pdf": "encrypted", "damaged.pdf": "damaged", "blank.txt": "no-text",
    ]
    let (_, run) = try ingest(files)
    let (_, refusing) = try ingest(files, "{ without-text: reject }")
    for (name, data) in files {
      let record = try run.record(name)
      #expect(record.status == "completed", "\(name)")
      #expect(record.sha256 == (try Inbox.sha256(data)), "\(name)")
      #expect(record.metadata["text.none"]?.asText == reasons[name], "\(name)")
      #expect(record.metadata["text.characters"] == 0, "\(name)")
      #expect(record.metadata["original.sha256"] == nil, "\(name)")
      #expect(try refusing.record(name).code == "no-text", "\(name)")
    }
    #expect(try run.record("scan.pdf").mediaType == "application/pdf")
  }

  /// Each of the stages has poppler find tables and fonts in memory, and all share one poppler in one worker.
  @Test(arguments: [["pdf", "text", "preview"], ["preview", "text", "pdf"], ["text", "preview", "pdf"]])
  func stagesInOneWorkerShareTablesAndFonts(order: [String]) throws {
    let options = ["pdf": "{}", "text": "{ as: derived }", "preview": "{ format: png, on-failure: reject }"]
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.storing(
        order.map { "- use: \($0)\n  options: \(options[$0] ?? "{}")" }.joined(separator: "\n")))
    let font = """
      << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> /J << /Type /Font /Subtype /Type0
      /BaseFont /Mincho /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0
      /BaseFont /Mincho /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>] >> >> >>
      """
    let content = "BT /J 9 Tf 9 80 Td <82b182f182c9> Tj /F 40 Tf 0 -50 Td (abcd) Tj ET"
    for (name, content) in ["text.pdf": content, "blank.pdf": ""] {
      let pdf = HandmadePDF.page().adding(stream: Data(content.utf8)).adding(font)
      try inbox.folder.write("in/" + name, pdf.data)
    }
    let run = try inbox.run()
    #expect(try run.record("text.pdf").isCompleted && run.record("blank.pdf").isCompleted)
    let derived = inbox.folder.files(below: "home/store/derived").map { "home/store/derived/" + $0 }
    let texts = try derived.filter { $0.hasSuffix(".txt") }.map { try inbox.folder.read($0) }
    #expect(texts == ["こんに\nabcd"])
    let pictures = try derived.filter { $0.hasSuffix(".png") }
      .map { try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/" + $0)).count }.sorted()
    #expect(pictures.count == 2 && pictures[1] > 2 * pictures[0], "\(pictures)")
  }

  // MARK: Setting up

  private func ingest(_ files: [String: Data], _ options: String = "{}", memory: String = "256MB") throws -> (
    Inbox, Inbox.Run
  ) {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.storing(
        """
        - use: text
          memory: \(memory)
          options: \(options)
        """))
    for (name, data) in files { try inbox.folder.write("in/" + name, data) }
    let run = try inbox.run()
    return (inbox, run)
  }

  private func stored(_ record: Printed.Attachment, _ inbox: Inbox) throws -> String {
    let url = try #require(record.url, "\(record)")
    return try inbox.folder.read("home/store/" + url)
  }
}
