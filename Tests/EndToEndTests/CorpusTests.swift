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
    var records: [String: [String: Any]] = [:]
    for record in outcome.attachments {
      let source = record["source"] as? String ?? ""
      #expect(
        records.updateValue(record, forKey: String(source.dropFirst(root.count + 1))) == nil,
        "\(source) twice")
    }
    let entries = try Corpus.entries()
    #expect(entries.count > 900)
    for entry in entries {
      let record = try #require(records[entry.path], "\(entry.path) is accounted for")
      check(record, entry)
    }
    let failed = records.values.filter {
      $0["status"] as? String == "failed" || $0["status"] as? String == "quarantined"
    }
    #expect(failed.isEmpty)
    // The manifest and the README of the corpus are files too.
    #expect(outcome.summary["total"] as? Int == entries.count + 2)
  }

  private func check(_ record: [String: Any], _ entry: Corpus.Entry) {
    let metadata = record["metadata"] as? [String: Any] ?? [:]
    let status = record["status"] as? String
    let code = (record["reason"] as? [String: Any])?["code"] as? String
    #expect(record["sha256"] as? String == entry["sha256"], "\(entry.path)")
    #expect(record["sizeBytes"] as? Int == Int(entry["bytes"]), "\(entry.path)")
    #expect(record["mediaType"] as? String == entry["mime"], "\(entry.path)")
    guard entry["mime"] == "application/pdf" else {
      #expect(status == "completed", "\(entry.path)")
      return
    }
    if Self.exceptions[entry.path] != nil && code == "timed-out" { return }
    let said = entry["poppler_glib"]
    let opens = said.hasPrefix("opens") && !said.contains("pages=0") && !said.contains("unloadable")
    #expect((status == "completed") == opens, "\(entry.path): \(said), and \(code ?? "completed")")
    if opens {
      #expect((metadata["pdf.pages"] as? Int).map(String.init) == entry["pages"], "\(entry.path)")
      #expect(metadata["pdf.version"] as? String == entry["pdf_version"], "\(entry.path)")
      #expect(metadata["pdf.encrypted"] as? Bool == (entry["encrypted"] != "no"), "\(entry.path)")
      #expect(metadata["pdf.linearized"] as? Bool == (entry["linearized"] == "yes"), "\(entry.path)")
    } else {
      #expect(code == (entry["encrypted"] == "password" ? "pdf-encrypted" : "pdf-damaged"), "\(entry.path)")
    }
  }
}
