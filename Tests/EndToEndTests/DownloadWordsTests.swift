import Foundation
import Testing

/// What is said of downloads that end badly, stop, or cannot be opened any more.
@Suite(.serialized)
struct DownloadWordsTests {
  private let folder: TemporaryFolder
  private let environment: [String: String]

  init() throws {
    folder = try TemporaryFolder()
    // No other one: `doctor` asks each, and those that hang take their time.
    let plugins = folder.path + "/plugins"
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    try FixtureStages.compile("well", into: plugins)
    environment = ["SLUICE_PLUGIN_PATH": plugins]
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads: { use: well, max-size: 100MB, min-free: 1MB, retry: { attempts: 2, backoff: 20ms, max: 50ms } }
      stages:
        - use: mime
      """)
  }

  private static let host = "https://files.example.com"

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, environment: environment)
  }

  @Test func theEndOfAWorkerIsNamedOnce() throws {
    #expect(try sluice("fetch", Self.host + "/crash").status == 1)
    let shown = try sluice("downloads", "--state", "failed").out
    #expect(shown.contains("(crashed: SIGABRT"), "\(shown)")
    #expect(!shown.contains("crashed: crashed"))
  }

  /// What comes further uses up no attempts, unless it is next to nothing each time.
  @Test func aLinkThatComesByInchesEnds() throws {
    #expect(try sluice("fetch", Self.host + "/inch/300000", Self.host + "/inch/100").status == 1)
    #expect(
      try sluice("downloads", "--state", "fetched").out.split(separator: "\n").count(where: {
        $0.contains(Self.host)
      }) == 1)
    let failed = try sluice("downloads", "--state", "failed").out
    #expect(
      failed.contains("server-busy")
        && failed.split(separator: "\n").count(where: { $0.contains(Self.host) }) == 1)
  }

  @Test func aLongWaitIsToldAndEndsWithTheTimeout() throws {
    let outcome = try sluice("fetch", "--timeout", "1s", Self.host + "/later/86400000")
    #expect(outcome.status == 75)
    #expect(
      outcome.err.contains(": trying again in 24h: downloads: ")
        || outcome.err.contains(": trying again in 86399s: downloads: "), "\(outcome.err)")
    #expect(outcome.err.contains("the well is to rest"))
    #expect(outcome.err.contains("1 attachment is left in the queue"))
    #expect(try sluice("downloads", "--state", "scheduled").out.contains(Self.host))
  }

  @Test func doctorSaysThatTheKeyIsLostAndWhatThatMeans() throws {
    func doctor() throws -> String { try sluice("doctor", "--config", "pipeline.yaml").out }
    #expect(try doctor().contains("sluice.key (not there yet; it is made when something is sealed first)"))
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try sluice("pause", "downloads").status == 0)
    #expect(try sluice("fetch", Self.host + "/bytes/10", Self.host + "/bytes/11").status == 75)
    #expect(try doctor().contains("ok       home/sluice.key\n"))
    try FileManager.default.moveItem(
      atPath: folder.path + "/home/sluice.key", toPath: folder.path + "/copy.key")
    let lost = try doctor()
    #expect(lost.contains("wrong    home/sluice.key (lost)"), "\(lost)")
    #expect(
      lost.contains(
        "the key home/sluice.key is lost: it was there when links were sealed. Without it 2 links that wait to be fetched"
      ))
    let json = try sluice("doctor", "--config", "pipeline.yaml", "--format", "json").out
    #expect(json.contains(#""source":"home/sluice.key","state":"lost""#), "\(json)")
    // The two ways out that it names.
    try FileManager.default.moveItem(
      atPath: folder.path + "/copy.key", toPath: folder.path + "/home/sluice.key")
    #expect(try doctor().contains("ok       home/sluice.key\n"))
    try FileManager.default.removeItem(atPath: folder.path + "/home/sluice.key")
    #expect(try sluice("reset", "downloads").status == 0)
    try folder.write("home/sluice.key", String(repeating: "0123456789abcdef", count: 4) + "\n")
    chmod(folder.path + "/home/sluice.key", 0o600)
    #expect(try sluice("resume", "downloads").status == 0)
    let again = try sluice("fetch", "--conversation", "new", Self.host + "/bytes/10")
    // Beside what was taken back, of which it tells as well.
    #expect(again.out.contains("1 completed, 0 rejected, 0 failed"), "\(again.out)\(again.err)")
  }

  @Test func whatIsUnderWayDoesNotEndBeforeTheProgramDoes() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/90000000").status == 0)
    try Resident.wait("it is under way") { try sluice("downloads", "--state", "running").out.contains("MB") }
    #expect(resident.stop() == 0)
    #expect(
      resident.errors.contains("stopping: 1 download stops now and goes on from there later, and the rest"),
      "\(resident.errors)")
    #expect(!resident.errors.contains("end first"))
  }
}
