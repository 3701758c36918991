import Foundation
import Testing

/// `sluice refresh`, with a source that needs no network: `Tests/Fixtures/Stages/well.c`.
@Suite(.serialized)
struct RefreshTests {
  private let folder: TemporaryFolder
  private let environment: [String: String]

  init() throws {
    folder = try TemporaryFolder()
    environment = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads: { use: well, connections: 4, min-free: 1MB, retry: { attempts: 3, backoff: 20ms, max: 50ms } }
      stages:
        - use: size
          options: { max: 100MB }
        - use: store
          options: { path: "{sha256}" }
        - use: notify
          options: { channels: events }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      """)
  }

  private static let secret = "hush9c41e7b2"
  private static let size = 400_000
  private static let host = "https://files.example.com"
  /// Gives the half, and then nothing any more.
  private static let old = "\(host)/lapse/\(size)?X-Amz-Signature=\(secret)"
  /// Gives the rest, and only that.
  private static let new = "\(host)/lapse/\(size)?X-Amz-Signature=\(secret)&fresh=1&rest=1"

  @discardableResult
  private func sluice(_ words: String..., input: String = "") throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, input: input, environment: environment)
  }

  private func listed() throws -> [Printed.Attachment] {
    try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
      .records(Printed.Attachment.self)
  }

  private func files() throws -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/downloads")) ?? []
  }

  /// What the source makes of the path.
  private static let water: Data = {
    var seed: UInt32 = 7
    for byte in "/lapse/\(size)".utf8 { seed = seed &* 31 &+ UInt32(byte) }
    return Data((0..<size).map { UInt8(truncatingIfNeeded: UInt32($0) &* 31 &+ seed &+ UInt32($0 >> 8)) })
  }()

  private func checkContent(_ id: String) throws {
    #expect(try sluice("get", id, "-o", "got", "--force").status == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/got")) == Self.water)
  }

  /// No text that the program wrote, and no file of the home, has the secret.
  private func checkSecret(_ texts: [String]) throws {
    for text in texts + [try sluice("downloads", "--state", "fetched,failed").out, try sluice("list").out] {
      #expect(!text.contains(Self.secret), "\(text)")
    }
    for name in ["home/sluice.db", "home/sluice.db-wal", "home/events.jsonl"] {
      let bytes = (try? Data(contentsOf: URL(fileURLWithPath: folder.path + "/\(name)"))) ?? Data()
      #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
    }
  }

  // MARK: Alone

  @Test func anExpiredLinkIsGoneOnWithByANewOne() throws {
    let fetch = try sluice("fetch", Self.old)
    #expect(fetch.status == 1)
    let id = try #require(try listed().first).id
    #expect(try listed().map(\.code) == ["link-expired"])
    #expect(try files().count == 1, "what came is kept")
    let show = try sluice("show", id)
    #expect(show.out.contains("sluice refresh \(id) LINK"))
    // A start sweeps what nobody needs.
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try files().count == 1)
    #expect(try sluice("verify").status == 0)
    let first = try sluice("refresh", String(id.prefix(18)), Self.new)
    #expect(first.status == 0, "\(first.err)")
    #expect(first.out == "attachment \(id) waits for its new link\n")
    let second = try sluice("refresh", id, Self.new, "--format", "json")
    #expect(second.out.contains(#""changed":false"#) && second.status == 0)
    // The source has only the rest.
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try listed().map(\.status) == ["completed"])
    try checkContent(id)
    #expect(try files() == [])
    #expect(try sluice("verify").status == 0)
    let late = try sluice("refresh", id, Self.new)
    #expect(late.status == 1 && late.err.contains("is completed"))
    try checkSecret([fetch.out, fetch.err, show.out, first.out, second.out, late.err])
  }

  @Test func aSecretLinkIsReadFromStandardInput() throws {
    _ = try sluice("fetch", Self.old)
    let id = try #require(try listed().first).id
    let none = try sluice("refresh", id, "-", input: "no link \(Self.secret)\n")
    #expect(none.status == 2 && none.err.contains("holds no link") && !none.err.contains(Self.secret))
    #expect(
      try sluice("refresh", id, "-", "--expires-at", "2999-01-31T08:00:00Z", input: Self.new + "\n").status
        == 0)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    try checkContent(id)
  }

  @Test func whatIsKeptGoesWithItsAttachment() throws {
    _ = try sluice("fetch", Self.old)
    #expect(try files().count == 1)
    #expect(try sluice("delete", "--code", "link-expired").status == 0)
    #expect(try files() == [])
  }

  @Test func withoutALaneNoLinkIsReplaced() throws {
    _ = try sluice("fetch", Self.old)
    let id = try #require(try listed().first).id
    try folder.write("pipeline.yaml", Pipelines.open)
    let outcome = try sluice("refresh", id, Self.new)
    #expect(outcome.status == 1 && outcome.err.contains("lanes: { downloads"), "\(outcome.err)")
    #expect(try listed().map(\.status) == ["failed"])
  }

  // MARK: Until when a link is taken

  @Test func aLinkThatSaysUntilWhenHasExpiredThen() throws {
    let lines = ["2001-01-31T08:00:00Z", "2999-01-31T08:00:00.000Z", "soon"].enumerated().map {
      #"{"url": "\#(Self.host)/gone", "messageId": "m\#($0)", "size": \#($0), "expiresAt": "\#($1)"}"#
    }
    try folder.write("list.jsonl", lines.joined(separator: "\n"))
    let outcome = try sluice("ingest", "--manifest", "list.jsonl")
    #expect(outcome.status == 1)
    #expect(outcome.err.contains("list.jsonl:3") && outcome.err.contains("'expiresAt'"), "\(outcome.err)")
    #expect(try listed().map(\.code) == ["link-expired", "gone"])
    _ = try sluice("fetch", "--expires-at", "2001-01-31T08:00:00Z", "--size", "9", Self.host + "/gone")
    #expect(try listed().map(\.code) == ["link-expired", "gone", "link-expired"])
  }

  // MARK: Beside a coordinator

  @Test func aCoordinatorTakesTheNewLink() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.old).status == 0)
    try resident.wait(for: 1)
    let id = try #require(resident.ended.first).id
    #expect(resident.ended.map(\.code) == ["link-expired"])
    let outcome = try sluice("refresh", id, Self.new)
    #expect(outcome.status == 0, "\(outcome.err)")
    try resident.wait(for: 2)
    #expect(resident.ended.map(\.status) == ["failed", "completed"])
    try checkContent(id)
    #expect(resident.stop() == 0)
    try checkSecret([outcome.out, outcome.err, resident.errors])
    #expect(try sluice("verify").status == 0)
  }

  @Test func aLinkUnderWayIsReplaced() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/90000000").status == 0)
    try Resident.wait("it is under way") { try files().count == 1 }
    let id = try #require(try listed().first).id
    #expect(try sluice("refresh", id, Self.host + "/bytes/1000").status == 0)
    try resident.wait(for: 1)
    #expect(resident.ended.map(\.status) == ["completed"])
    #expect(resident.ended.map(\.sizeBytes) == [1000])
    #expect(resident.stop() == 0)
    #expect(try sluice("verify").status == 0)
  }

  @Test(arguments: [
    (["refresh"], "needs an ID and a LINK"), (["refresh", "01"], "needs an ID and a LINK"),
    (["refresh", "01", "ftp://a/b"], "is no link"),
    (["refresh", "01", "https://a/b", "--expires-at", "soon"], "a time in UTC"),
    (["fetch", "https://a/b", "--expires-at", "2026-01-31"], "a time in UTC"),
  ])
  func aWrongLineIsExplained(_ words: [String], _ text: String) throws {
    let outcome = try SluiceCommand.run(words + ["--home", "home"], in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err.contains(text), "\(outcome.err)")
  }
}
