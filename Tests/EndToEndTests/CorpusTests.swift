import Foundation
import Testing

/// Every file of the corpus in one ingest, compared with the results of `file` and poppler.
@Suite(.enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)))
struct CorpusTests {
  /// Files whose outcome differs from the manifest's, and why.
  static let exceptions: [String: String] = [
    "pdf-broken/made-slow-trailers-12000.pdf":
      "poppler needs more than twenty seconds for it; the test's time limit ends it first",
    "pdf-broken/made-slow-trailers-2500.pdf":
      "poppler needs seconds for it; on a loaded machine the test's time limit may end it first",
  ]

  /// The real number of pages of files whose `Count` is wrong. The manifest has the number that poppler believes.
  static let pages: [String: Int] = [
    "pdf-broken/made-count-lies-2000000000.pdf": 1,
    "pdf-broken/made-count-lies-7-of-1.pdf": 1,
    "pdf-broken/made-count-missing.pdf": 1,
    "pdf-broken/made-count-negative.pdf": 1,
    "pdf-broken/made-count-overflow.pdf": 1,
    "pdf-broken/opf-T02-02_008_page-tree-node-no-count.pdf": 1,
    "pdf-broken/pdfium-bug_113.pdf": 1,
    "pdf-broken/pdfium-bug_547706.pdf": 1,
    "pdf-broken/pdfium-bug_551460.pdf": 1,
    "pdf-broken/pdfium-bug_552046.pdf": 1,
    "pdf-broken/pdfium-bug_555784.pdf": 1,
    "pdf-broken/pdfium-bug_828206.pdf": 5,
    "pdf-broken/pdfium-no_page_count.pdf": 3,
    "pdf-broken/pdfium-page_tree_empty_node.pdf": 2,
    "pdf-broken/pdfjs-poppler-67295-0.pdf": 1,
    "pdf-broken/pdfjs-poppler-91414-0-53.pdf": 1,
    "pdf-broken/pdfjs-poppler-91414-0-54.pdf": 1,
    "pdf-valid/opf-T02-02_003_page-tree-different-kids.pdf": 2,
    "pdf-valid/opf-T02-02_007_page-tree-wrong-count.pdf": 1,
    "pdf-valid/pdfium-bug_680376.pdf": 6,
    "pdf-valid/pdfium-document_aactions.pdf": 1,
    "pdf-valid/pdfium-unsupported_feature.pdf": 1,
  ]

  @Test func everyFileIsAccountedForAndAgreesWithTheManifest() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(of: "timeout: 30s", with: "timeout: 15s\n    on-timeout: reject"))
    let outcome = try SluiceCommand.run(
      [
        "ingest", "--home", "var", "--participants", "a,b", "--sender", "a", "--format", "json",
        Corpus.folder,
      ], in: folder)
    #expect(outcome.status == 1, "\(outcome.err.suffix(500))")
    #expect(outcome.err == "")

    let root = try #require(URL(fileURLWithPath: Corpus.folder).resolvingSymlinksInPath().path as String?)
    var records: [String: Printed.Attachment] = [:]
    for record in outcome.attachments {
      let path = String(record.source.dropFirst(root.count + 1))
      #expect(records.updateValue(record, forKey: path) == nil, "\(path) twice")
    }
    let entries = try Corpus.entries()
    #expect(entries.count > 900)
    var messages = 0
    var mailboxes = 0
    for entry in entries {
      // Of a mailbox file each message is one.
      let own = records.filter { $0.key.hasPrefix(entry.path + "//") }
      if entry.path.hasSuffix(".mbox"), !own.isEmpty {
        #expect(own.values.allSatisfy { $0.isCompleted }, "\(entry.path)")
        (messages, mailboxes) = (messages + own.count, mailboxes + 1)
        continue
      }
      let record = try #require(records[entry.path], "\(entry.path) is accounted for")
      check(record, entry)
    }
    let failed = records.values.filter { ["failed", "quarantined"].contains($0.status) }
    #expect(failed.isEmpty)
    // The manifest and the README of the corpus are files too.
    #expect(try outcome.summary.total == entries.count - mailboxes + messages + 2)
  }

  private func check(_ record: Printed.Attachment, _ entry: Corpus.Entry) {
    #expect(record.sha256 == entry["sha256"], "\(entry.path)")
    #expect(record.sizeBytes == Int(entry["bytes"]), "\(entry.path)")
    #expect(record.metadata["mime.magic"] == .text(entry["mime"]), "\(entry.path)")
    guard entry["mime"] == "application/pdf" else {
      #expect(record.isCompleted, "\(entry.path)")
      return
    }
    if Self.exceptions[entry.path] != nil && record.code == "timed-out" { return }
    let said = entry["poppler_glib"]
    let pages = Self.pages[entry.path].map(String.init)
    let opens =
      pages != nil || said.hasPrefix("opens") && !said.contains("pages=0") && !said.contains("unloadable")
    #expect(record.isCompleted == opens, "\(entry.path): \(said), and \(record)")
    if opens {
      let metadata = record.metadata
      #expect(
        metadata["pdf.pages"]?.asInteger.map(String.init) == pages ?? entry["pages"], "\(entry.path)")
      // The manifest knows no more of files whose pages it does not find.
      if entry["pdf_version"] == "" { return }
      #expect(metadata["pdf.version"] == .text(entry["pdf_version"]), "\(entry.path)")
      #expect(metadata["pdf.encrypted"] == .boolean(entry["encrypted"] != "no"), "\(entry.path)")
      #expect(metadata["pdf.linearized"] == .boolean(entry["linearized"] == "yes"), "\(entry.path)")
    } else {
      let code = entry["encrypted"] == "password" ? "pdf-encrypted" : "pdf-damaged"
      #expect(record.code == code, "\(entry.path)")
    }
  }
}
