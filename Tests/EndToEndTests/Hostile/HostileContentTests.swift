import Foundation
import Testing

/// Content that is damaged, lies about itself or takes excessive resources.
@Suite(.serialized)
struct HostileContentTests {
  // MARK: Generated content

  @Test(arguments: [
    ("inflating", Bomb.inflating), ("counting", Bomb.counting), ("nested", Bomb.nested),
    ("circular", Bomb.circular), ("slow", Bomb.slow), ("images", Bomb.images),
  ])
  func bombsEndWithinTheirBudgets(kind: String, bombs: [Bomb]) throws {
    let inbox = try Inbox()
    try inbox.folder.write("pipeline.yaml", Self.pipeline)
    for (number, bomb) in bombs.enumerated() {
      try inbox.folder.write("in/\(number)-\(bomb.file)", try bomb.make())
    }
    let start = Date()
    let limit = Self.milliseconds
    let ended = try HostileRun(
      inbox: inbox, timeouts: ["mime": limit, "pdf": limit, "text": limit, "image": limit], memory: 256
    ).run(within: 60)
    // One after the other, if there were only one worker.
    let most = Double(bombs.count) * (Double(limit) / 1000 + HostileRun.grace)
    #expect(Date().timeIntervalSince(start) < most)
    for (number, bomb) in bombs.enumerated() {
      let record = try ended.run.record("\(number)-\(bomb.file)")
      // A machine that is busy otherwise takes longer than the limit for any of them.
      #expect(
        bomb.codes.contains(record.code) || record.code == "timed-out",
        "\(bomb.name): \(record)")
    }
    Soak.row("a bomb", tries: bombs.count, failures: ended.wrong)
  }

  private static let milliseconds = 1500

  /// No retries, so that each exceeded limit shows once.
  private static let pipeline = """
    version: 1
    stages:
      - use: mime
        options: { allow: ["*/*"] }
        timeout: \(milliseconds)ms
      - use: size
        options: { max: 100MB, min: 0B }
      - use: pdf
        when: application/pdf
        options: { max-pages: 5000 }
        timeout: \(milliseconds)ms
        memory: 256MB
      - use: text
        when: application/pdf
        timeout: \(milliseconds)ms
      - use: image
        when: image/*
        timeout: \(milliseconds)ms
        memory: 256MB
      - use: store
        options: { path: "{attachmentId}.{extension}" }
      - use: notify
        options: { to: participants, channels: [events] }
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
    retry: { attempts: 1 }
    """

  // MARK: The corpus

  /// The default pipeline with a shorter time limit.
  @Test(.enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)))
  func everyBrokenPDFEndsInOneState() throws { try BrokenPDFs(timeout: 10, workers: "").run() }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct HostileContentSoakTests {
  @Test(
    .enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)),
    arguments: ["", "workers: 1", "workers: 8"])
  func everyBrokenPDFEndsInOneStateAsThePipelineStands(workers: String) throws {
    try BrokenPDFs(timeout: 30, workers: workers).run()
  }
}

/// All of `pdf-broken` through the default pipeline.
private struct BrokenPDFs {
  /// Seconds.
  var timeout: Int
  var workers: String

  func run() throws {
    let inbox = try Inbox()
    let pipeline = try String(contentsOfFile: SluiceCommand.projectFolder + "/pipeline.yaml", encoding: .utf8)
    try #require(pipeline.contains("timeout: 30s"))
    try inbox.folder.write(
      "pipeline.yaml",
      pipeline.replacingOccurrences(of: "timeout: 30s", with: "timeout: \(timeout)s") + "\n\(workers)\n")
    let entries = try Corpus.entries().filter { $0.path.hasPrefix("pdf-broken/") }
    #expect(entries.count > 190)
    for entry in entries {
      try inbox.folder.write(
        "in/" + entry.name, try Data(contentsOf: URL(fileURLWithPath: entry.file)))
    }
    let ended = try HostileRun(inbox: inbox, timeouts: ["pdf": timeout * 1000]).run(
      within: Double(timeout * 5 + 60))
    #expect(ended.run.outcome.status == 1)
    for entry in entries {
      let record = try ended.run.record(entry.name)
      let wanted = Self.wanted(entry, as: record.mediaType)
      // A file that takes poppler seconds may or may not finish in time.
      let isSlow = entry.name.hasPrefix("made-slow-trailers")
      // A file of 82 bytes makes poppler ask for 640 MB.
      let isLarge = entry.name.hasPrefix("pdfium-bug_325")
      #expect(
        record.code == wanted || (isLarge && record.code == "out-of-memory")
          || (isSlow && record.code == "timed-out" && record.status == "rejected"),
        "\(entry.name): \(record), not \(wanted ?? "completed")")
    }
    Soak.row("a file of pdf-broken", tries: entries.count, failures: ended.wrong)
  }

  /// The code expected by the manifest, which has libmagic's types: the stage finds the headers of PDFs further inside.
  private static func wanted(_ entry: Corpus.Entry, as mediaType: String?) -> String? {
    let allowed = ["application/pdf", "image/jpeg", "image/png", "image/gif", "image/webp"]
    guard let mediaType, allowed.contains(mediaType) else { return "type-not-allowed" }
    guard mediaType == "application/pdf" else { return nil }
    if entry["encrypted"] == "password" { return "pdf-encrypted" }
    if CorpusTests.pages[entry.path] != nil { return nil }
    let said = entry["poppler_glib"]
    guard said.hasPrefix("opens"), !said.contains("pages=0"), !said.contains("unloadable") else {
      return "pdf-damaged"
    }
    return (Int(entry["pages"]) ?? 0) > 5000 ? "too-many-pages" : nil
  }
}

extension Corpus.Entry {
  fileprivate var name: String { (path as NSString).lastPathComponent }
}
