import Foundation
import Testing

/// Results of stages are reused for equal content if all those stages promise to repeat them, on the same
/// basis, and not otherwise.
struct ReuseTests {
  private let inbox: Inbox
  private static let words = "the same words\n"

  init() throws {
    inbox = try Inbox()
    try inbox.folder.write("basis", "yes")
    try pipeline()
  }

  private func pipeline(
    options: String = "basis: ../basis", size: String = "10MB", oracle: String = "", mime: String = "",
    before: String = "", more: String = ""
  ) throws {
    let options = options.replacingOccurrences(of: "../basis", with: inbox.folder.path + "/basis")
    try inbox.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
      \(before)
        - use: mime
      \(mime)
        - use: size
          options: { max: \(size) }
        - use: oracle
          options: { \(options) }
      \(oracle)
        - use: store
          options: { path: "{attachmentId}.{extension}" }
        - use: notify
          options: { to: participants, channels: [events] }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      \(more)
      """)
    try FileManager.default.createDirectory(
      atPath: inbox.folder.path + "/plugins", withIntermediateDirectories: true)
  }

  /// Takes in the same words under another name, and returns which stages ran.
  private func stagesRun(for name: String, plugins: String? = nil) throws -> [String] {
    try inbox.add(name, Self.words)
    let run = try inbox.run(environment: plugins.map { ["SLUICE_PLUGIN_PATH": $0] } ?? [:])
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    let record = try run.record(name)
    #expect(record.status == "completed")
    #expect(record.mediaType == "text/plain")
    try inbox.checkWhole(run)
    let steps = try #require(
      try inbox.ledger(
        """
        SELECT group_concat(stage || CASE WHEN t.message IS NULL THEN '' ELSE '=' END, ' ')
        FROM steps t JOIN attachments a ON a.key = t.attachment_key WHERE a.file_name = '\(name)'
        """))
    return steps.split(separator: " ").map(String.init)
  }

  private static let all = ["mime", "size", "oracle", "store", "notify"]
  private static let repeated = ["mime=", "size=", "oracle=", "store", "notify"]

  @Test func aNewNameForKnownContentNeedsNoStageThatReadsIt() throws {
    #expect(try stagesRun(for: "a.txt") == Self.all)
    #expect(try stagesRun(for: "b.txt") == Self.repeated)
    // Reused results may be reused again.
    #expect(try stagesRun(for: "c.txt") == Self.repeated)
    let rows = try #require(
      try inbox.ledger("SELECT count(DISTINCT metadata) || ' ' || count(DISTINCT url) FROM attachments"))
    #expect(rows == "1 3", "the same is on record for all, each with an object of its own")
  }

  @Test func equalContentInOneRunIsReadOnce() throws {
    for number in 0..<30 { try inbox.add("\(number).txt", Self.words) }
    let run = try inbox.run()
    #expect(run.outcome.attachments.count == 30)
    try inbox.checkWhole(run)
    let ran = try inbox.ledger("SELECT count(*) FROM steps WHERE stage = 'oracle' AND message IS NULL")
    #expect(ran == "1")
  }

  @Test func theSwitchTurnsItOff() throws {
    try pipeline(more: "reuse: off")
    #expect(try stagesRun(for: "a.txt") == Self.all)
    #expect(try stagesRun(for: "b.txt") == Self.all)
    try pipeline(more: "reuse: verdicts")
    #expect(try stagesRun(for: "c.txt") == Self.all, "what was said while it was off does not count")
  }

  @Test func anotherOptionIsAnotherQuestion() throws {
    #expect(try stagesRun(for: "a.txt") == Self.all)
    try pipeline(size: "11MB")
    #expect(try stagesRun(for: "b.txt") == Self.all)
    try pipeline(size: "10MB")
    #expect(try stagesRun(for: "c.txt") == Self.repeated, "the first question again")
  }

  @Test func anotherConditionOrOrderIsAnotherQuestion() throws {
    #expect(try stagesRun(for: "a.txt") == Self.all)
    try pipeline(oracle: "    when: text/plain")
    #expect(try stagesRun(for: "b.txt") == Self.all)
    try pipeline(before: "  - { use: size, id: first, options: { max: 1MB } }")
    #expect(try stagesRun(for: "c.txt") == ["first"] + Self.all)
  }

  @Test func otherDataIsAnotherBasis() throws {
    #expect(try stagesRun(for: "a.txt") == Self.all)
    try inbox.folder.write("basis", "no")
    #expect(try stagesRun(for: "b.txt") == Self.all)
    let words = try inbox.ledger(
      "SELECT group_concat(json_extract(metadata, '$.\"oracle.words\"')) FROM attachments ORDER BY key")
    #expect(words == "yes,no")
  }

  @Test func aStageThatWasBuiltAnewIsAskedAnew() throws {
    let folder = inbox.folder.path + "/plugins"
    try FixtureStages.compile("oracle", into: folder)
    #expect(try stagesRun(for: "a.txt", plugins: folder) == Self.all)
    #expect(try stagesRun(for: "b.txt", plugins: folder) == Self.repeated)
    try FixtureStages.compile("oracle", into: folder)
    #expect(try stagesRun(for: "c.txt", plugins: folder) == Self.repeated, "the same file at another time")
    let file = try #require(FileHandle(forWritingAtPath: folder + "/libsluice-oracle.so"))
    try file.seekToEnd()
    try file.write(contentsOf: Data([0]))
    #expect(try stagesRun(for: "d.txt", plugins: folder) == Self.all)
  }

  @Test func anotherExtensionMayMeanSomethingElse() throws {
    #expect(try stagesRun(for: "a.txt") == Self.all)
    #expect(try stagesRun(for: "a.pdf") == Self.all)
    let mismatch = try inbox.ledger(
      "SELECT json_extract(metadata, '$.\"mime.mismatch\"') FROM attachments WHERE file_name = 'a.pdf'")
    #expect(mismatch == "1")
    #expect(try stagesRun(for: "a") == Self.all)
    #expect(try stagesRun(for: "b") == Self.repeated)
  }

  @Test func aStageWithoutThePromiseIsRunEachTime() throws {
    try pipeline(options: "")
    #expect(try stagesRun(for: "a.txt") == Self.all)
    #expect(try stagesRun(for: "b.txt") == Self.all)
  }

  @Test func aProcessForEachAttachmentIsWhatItSays() throws {
    try pipeline(mime: "    isolation: fresh")
    #expect(try stagesRun(for: "a.txt") == Self.all)
    #expect(try stagesRun(for: "b.txt") == Self.all)
  }

  @Test func whatWasRejectedIsLookedAtAgain() throws {
    try pipeline(size: "3B")
    for name in ["a.txt", "b.txt"] {
      try inbox.add(name, Self.words)
      #expect(try inbox.run().record(name).code == "too-large")
    }
    #expect(
      try inbox.ledger(
        "SELECT count(*) FROM steps WHERE stage = 'size' AND message <> 'as for equal content'") == "2")
  }

  @Test func mimeRestsOnItsDatabaseAndPdfOnItsLibrary() throws {
    let folder = try TemporaryFolder()
    try folder.write("a.txt", Self.words)
    for (stage, basis) in [("mime", "magic.mgc"), ("pdf", "poppler ")] {
      let plugin = SluiceCommand.folder + "/libsluice-\(stage).so"
      let traced = try SluiceCommand.run(["stages", "run", "--trace", plugin, "a.txt"], in: folder)
      let line = (traced.out + traced.err).split(separator: "\n").first { $0.contains("repeatable") }
      #expect(line?.contains(basis) == true, "\(traced.out)\(traced.err)")
    }
  }
}
