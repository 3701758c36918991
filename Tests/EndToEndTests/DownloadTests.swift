import Foundation
import Testing

/// Links, from the command line to the store, with a source that needs no network: `Tests/Fixtures/Stages/well.c`.
@Suite(.serialized)
struct DownloadTests {
  private let folder: TemporaryFolder
  private let environment: [String: String]

  init() throws {
    folder = try TemporaryFolder()
    environment = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    try write()
  }

  private func write(lane: String = "", token: String = "bad") throws {
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads:
          use: well
          connections: 4
          min-free: 1MB
          retry: { attempts: 3, backoff: 20ms, max: 50ms }
          \(lane)
      credentials:
        files: { header: "authorization: \(token)", hosts: [files.example.com] }
      stages:
        - use: mime
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

  private static let host = "https://files.example.com"

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome { try sluice(words) }

  private func sluice(_ words: [String]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, environment: environment)
  }

  private func fetch(_ paths: String..., options: [String] = []) throws -> SluiceCommand.Outcome {
    try sluice(
      ["fetch", "--sender", "ann", "--participants", "ann,ben"] + options + paths.map { Self.host + $0 })
  }

  private func listed() throws -> [Printed.Attachment] {
    try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
      .records(Printed.Attachment.self)
  }

  private struct Download: Decodable {
    var link: String
    var state: String
    var bytes: Int
    var attachments: Int
    var attempts: Int
    var code: String?
  }

  private func downloads(_ states: String = "waiting,scheduled,running,fetched,failed,stopped") throws
    -> [Download]
  {
    try sluice("downloads", "--state", states, "--format", "json").out.split(separator: "\n").map {
      try JSONDecoder().decode(Download.self, from: Data($0.utf8))
    }
  }

  private func files() throws -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/downloads")) ?? []
  }

  /// What the source makes of a path.
  private static func water(_ path: String, _ count: Int) -> Data {
    var seed: UInt32 = 7
    for byte in path.utf8 { seed = seed &* 31 &+ UInt32(byte) }
    return Data((0..<count).map { UInt8(truncatingIfNeeded: UInt32($0) &* 31 &+ seed &+ UInt32($0 >> 8)) })
  }

  // MARK: One link

  @Test func whatALinkHasIsStored() throws {
    let outcome = try fetch("/bytes/200000")
    #expect(outcome.status == 0, "\(outcome.err)")
    let attachment = try #require(try listed().first)
    #expect(attachment.fileName == "download")
    let content = try sluice("get", attachment.id, "-o", "got")
    #expect(content.status == 0)
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: folder.path + "/got")) == Self.water("/bytes/200000", 200_000)
    )
    #expect(try files() == [], "the store has it")
    #expect(try downloads().map(\.state) == ["fetched"])
  }

  @Test func ofALinkOnlyTheHostIsShown() throws {
    let secret = "hush5f1e77aa"
    let outcome = try fetch(
      "/bytes/10?token=\(secret)", "/gone?token=\(secret)", options: ["--format", "json"])
    var texts = [outcome.out, outcome.err, try folder.read("home/events.jsonl")]
    for command in [
      ["list"], ["status"], ["downloads"], ["report", "--format", "json"],
      ["lint", "--config", "pipeline.yaml"],
    ] {
      texts.append(try sluice(command).out)
    }
    for attachment in try listed() { texts.append(try sluice("show", attachment.id).out) }
    for text in texts { #expect(!text.contains(secret)) }
    #expect(try sluice("list").out.contains("\(Self.host)/…"))
    for file in ["sluice.db", "sluice.db-wal"] {
      let bytes = (try? Data(contentsOf: URL(fileURLWithPath: folder.path + "/home/\(file)"))) ?? Data()
      #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
    }
  }

  @Test func eachFailureHasItsCode() throws {
    #expect(try fetch("/gone", "/large", "/flaky/9", "/flaky/3", "/crash", "/bytes/5").status == 1)
    let ended = try listed().map { "\($0.status) \($0.reason?.code ?? "")" }
    #expect(
      ended == [
        "failed gone", "rejected too-large-to-fetch", "failed server-busy", "completed ", "failed crashed",
        "completed ",
      ])
    #expect(try folder.read("home/events.jsonl").contains("the well is dry"), "people are told")
    #expect(try files() == [])
    #expect(try sluice("verify").status == 0)
  }

  @Test func aSourceThatSaysNothingIsNotWaitedForForEver() throws {
    try write(lane: "timeout: 200ms")
    #expect(try fetch("/still", "/bytes/5").status == 1)
    #expect(try listed().map { $0.reason?.code } == ["timed-out", nil])
  }

  @Test func whatHasAnotherHashIsNotTaken() throws {
    let outcome = try fetch("/bytes/10", options: ["--sha256", String(repeating: "0", count: 64)])
    #expect(outcome.status == 1)
    #expect(try listed().map { $0.reason?.code } == ["hash-mismatch"])
    #expect(try fetch("/bytes/11", options: ["--size", "12"]).status == 1)
    #expect(try listed().last?.reason?.code == "size-mismatch")
    #expect(try downloads().map(\.attempts) == [0, 0], "they have no jobs any more")
  }

  @Test func whoAnnouncesSomethingElseDecidesForNobody() throws {
    #expect(try fetch("/bytes/10", options: ["--size", "11", "--conversation", "a"]).status == 1)
    #expect(try fetch("/bytes/10", options: ["--conversation", "b"]).status == 0)
    let wrong = String(repeating: "0", count: 64)
    #expect(try fetch("/bytes/10", options: ["--sha256", wrong, "--conversation", "c"]).status == 1)
    #expect(try listed().map { $0.reason?.code } == ["size-mismatch", nil, "hash-mismatch"])
  }

  @Test func whatWasChangedSinceItWasFetchedIsFetchedAgain() throws {
    #expect(try fetch("/bytes/1000").status == 0)
    let url = try #require(try listed().first?.url)
    let path = folder.path + "/home/store/\(url)"
    try Data(repeating: 0x21, count: 1000).write(to: URL(fileURLWithPath: path))
    _ = try fetch("/bytes/1000", options: ["--conversation", "b"])
    let hashes = try listed().map(\.sha256)
    #expect(
      hashes.count == 2 && hashes[0] == hashes[1], "what lies there now is not what was fetched: \(hashes)")
  }

  @Test func aCredentialThatIsNotThereIsNamed() throws {
    #expect(try fetch("/bytes/10", options: ["--credential", "nosuch"]).status == 1)
    #expect(try listed().first?.reason?.message.contains("no credential 'nosuch'") == true)
  }

  @Test func whatIsDeletedWithoutACoordinatorLeavesNoFile() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/90000000").status == 0)
    try Resident.wait("it is under way") { try downloads("running").contains { $0.bytes > 0 } }
    _ = resident.stop(SIGKILL)
    #expect(try !files().isEmpty)
    #expect(try sluice("delete", "--status", "queued").status == 0)
    #expect(try files() == [])
  }

  @Test func aFailedLinkIsFetchedAgainOnRetry() throws {
    try write(token: "good")
    #expect(try fetch("/flaky/5").status == 1)
    let id = try #require(try listed().first).id
    #expect(try sluice("retry", id).status == 0)
    #expect(try downloads().map(\.state) == ["waiting"])
    // The source counts attempts anew.
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 1)
    #expect(try listed().map { $0.reason?.code } == ["server-busy"])
  }

  // MARK: Many

  @Test func oneTransferIsForAllThatAskForTheLink() throws {
    let lines = (1...30).map {
      #"{"url": "\#(Self.host)/bytes/50000", "messageId": "m\#($0)", "fileName": "f\#($0)"}"#
    }
    try folder.write("list.jsonl", lines.joined(separator: "\n"))
    #expect(try sluice("ingest", "--manifest", "list.jsonl").status == 0)
    #expect(try downloads().map(\.attachments) == [30])
    #expect(Set(try listed().map(\.sha256)).count == 1)
    #expect(try fetch("/bytes/50000", options: ["--conversation", "other"]).status == 0)
    #expect(try downloads().map(\.state) == ["fetched"], "the store has it")
    #expect(try listed().count == 31)
  }

  @Test func whatWasTakenFromTheStoreIsFetchedAgain() throws {
    #expect(try fetch("/bytes/50000").status == 0)
    let url = try #require(try listed().first?.url)
    try FileManager.default.removeItem(atPath: folder.path + "/home/store/\(url)")
    #expect(try sluice("verify", "--repair").status != 78)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try sluice("verify").status == 0)
    #expect(try listed().map(\.status) == ["completed"])
  }

  @Test func aKilledCoordinatorGoesOnWhereItWas() throws {
    // At 3 MB a second: no run gets through one of them.
    let paths = (1...4).map { "/slow/\($0)500000" }
    var kills = 0
    while kills < 40 {
      let name = "run-\(kills)"
      let process = try SluiceCommand.start(
        ["fetch", "--quiet", "--home", "home"] + paths.map { Self.host + $0 }, in: folder,
        out: folder.path + "/\(name).out", err: folder.path + "/\(name).err", environment: environment)
      // On a slow machine the first lives get nowhere.
      let end = Date().addingTimeInterval(0.3 + 0.1 * Double(kills))
      while process.isRunning && Date() < end { usleep(5000) }
      if !process.isRunning { break }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      kills += 1
    }
    #expect(kills > 1 && kills < 40, "\(kills) kills")
    let rest = try sluice("ingest", "--manifest", "/dev/null")
    #expect(rest.status == 0, "\(rest.out)\(rest.err)")
    #expect(try listed().map(\.status) == Array(repeating: "completed", count: 4))
    #expect(try sluice("verify").status == 0)
    for (attachment, path) in zip(try listed(), paths) {
      try sluice("get", attachment.id, "-o", "got", "--force")
      let count = try #require(Int(path.split(separator: "/").last ?? ""))
      let got = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/got"))
      #expect(got == Self.water(path, count))
      try FileManager.default.removeItem(atPath: folder.path + "/got")
    }
    #expect(try files() == [])
  }

  // MARK: Pauses

  @Test func aRefusedTokenStopsTheLaneUntilAPersonLiftsThat() throws {
    try write(lane: "credential: files")
    let outcome = try fetch("/denied", "/bytes/100")
    #expect(outcome.status == 75)
    #expect(outcome.err.contains("sluice resume downloads"))
    let status = try sluice("status").out
    #expect(try listed().contains { status.contains("sluice cancel \($0.id)") }, "\(status)")
    // A start does not lift it.
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 75)
    try write(lane: "credential: files", token: "good")
    #expect(try sluice("resume", "downloads").status == 0)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try listed().map(\.status) == ["completed", "completed"])
  }

  @Test(.enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.skipped)))
  func aFullDiskStopsTheLaneAndLosesNothing() throws {
    let disk = try SmallDisk(folder.path + "/home", size: "24m")
    try write(lane: "max-size: 50MB")
    _ = try sluice("ingest", "--manifest", "/dev/null")
    try disk.fill("filler")
    let outcome = try fetch("/bytes/2000000")
    #expect(outcome.status != 0)
    try FileManager.default.removeItem(atPath: folder.path + "/home/filler")
    _ = try sluice("resume", "downloads")
    let again = try fetch("/bytes/2000000")
    #expect(again.status == 0, "\(again.err)")
    #expect(try listed().map(\.status) == ["completed"])
    #expect(try sluice("verify").status == 0)
  }

  // MARK: Beside a coordinator

  @Test func anUrgentLinkGoesFirstAndTheOthersGoOn() throws {
    let resident = try Resident(folder, environment: environment)
    // More than are in hand at once.
    let slow = (1...12).map { "/slow/\($0)000000" }
    #expect(try sluice(["enqueue"] + slow.map { Self.host + $0 }).status == 0)
    try Resident.wait("they are under way") { try downloads("running").contains { $0.bytes > 0 } }
    #expect(try fetch("/bytes/100000", options: ["--now"]).status == 0)
    #expect(resident.ended.count < 12, "the slow ones are not done")
    try resident.wait(for: 13)
    #expect(resident.ended.allSatisfy { $0.status == "completed" })
    #expect(resident.stop() == 0)
  }

  @Test func whatIsCancelledIsStoppedAndLeavesNothing() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/90000000").status == 0)
    try Resident.wait("it is under way") { try downloads("running").contains { $0.bytes > 0 } }
    let id = try #require(try listed().first).id
    #expect(try sluice("cancel", id).status == 0)
    try resident.wait(for: 1)
    #expect(resident.ended.map(\.status) == ["cancelled"])
    try Resident.wait("its file is gone") { try files() == [] }
    #expect(try downloads("running").isEmpty)
    #expect(resident.stop() == 0)
    #expect(try sluice("verify").status == 0)
  }

  @Test func aPersonPausesAndResumesTheLane() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/3000000").status == 0)
    try Resident.wait("it is under way") { try downloads("running").contains { $0.bytes > 0 } }
    #expect(try sluice("pause", "downloads").status == 0)
    try Resident.wait("nothing is under way") { try downloads("running").isEmpty }
    let before = try #require(try downloads().first)
    usleep(300_000)
    #expect(try downloads().first?.bytes == before.bytes)
    #expect(before.bytes > 0)
    #expect(try sluice("resume", "downloads").status == 0)
    try resident.wait(for: 1)
    #expect(resident.ended.map(\.status) == ["completed"])
    #expect(resident.stop() == 0)
  }

  @Test func aStopGivesBackWhatIsUnderWay() throws {
    let resident = try Resident(folder, environment: environment)
    #expect(try sluice("enqueue", Self.host + "/slow/6000000").status == 0)
    try Resident.wait("it is under way") { try downloads("running").contains { $0.bytes > 0 } }
    #expect(resident.stop() == 0)
    let left = try #require(try downloads().first)
    #expect(left.bytes > 0 && left.state != "running" && left.attempts <= 1)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try listed().map(\.status) == ["completed"])
  }

  // MARK: What is refused

  @Test func withoutALaneLinksAreRefused() throws {
    try folder.write("pipeline.yaml", Pipelines.open)
    let outcome = try fetch("/bytes/5")
    #expect(outcome.status == 1)
    #expect((outcome.err + outcome.out).contains("lanes: { downloads: { use: http } }"))
  }

  @Test func aLaneThatIsTakenAwayIsMissed() throws {
    try write(lane: "credential: files")
    #expect(try fetch("/denied").status == 75)
    let id = try #require(try listed().first).id
    #expect(try sluice("show", id).out.contains("waits until its link is fetched"))
    try folder.write("pipeline.yaml", Pipelines.open)
    let outcome = try sluice("ingest", "--manifest", "/dev/null")
    #expect(outcome.status == 75)
    #expect(outcome.err.contains("1 download waits, and the pipeline fetches no links"))
    #expect(try sluice("reset", "downloads").status == 0)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status != 75)
    #expect(try listed().map(\.status) == ["cancelled"])
    #expect(try sluice("verify").status == 0)
  }

  @Test func anotherKeyTouchesNothing() throws {
    try write(lane: "credential: files")
    #expect(try fetch("/denied").status == 75)
    try folder.write("home/sluice.key", String(repeating: "5a3c", count: 16) + "\n")
    chmod(folder.path + "/home/sluice.key", 0o600)
    let outcome = try sluice("ingest", "--manifest", "/dev/null")
    #expect(outcome.status == 78, "\(outcome.err)")
    let doctor = try sluice("doctor")
    #expect(doctor.status == 1)
    #expect(doctor.out.contains("wrong    home/sluice.key\n"))
    #expect(doctor.out.contains("`sluice reset downloads` gives up what waits for it"), "\(doctor.out)")
    let states = try downloads().map(\.state)
    #expect(states == ["waiting"] || states == ["scheduled"], "\(states)")
  }

  @Test func withoutItsKeyNothingIsTouched() throws {
    #expect(try fetch("/bytes/5").status == 0)
    try FileManager.default.removeItem(atPath: folder.path + "/home/sluice.key")
    let outcome = try fetch("/bytes/6")
    #expect(outcome.status == 78, "\(outcome.err)")
    #expect(outcome.err.contains("sluice.key"))
    #expect(try listed().count == 1)
  }

  @Test(arguments: [
    (["fetch", "ftp://a/b"], "no link"), (["fetch"], "needs a LINK"),
    (["fetch", "--sha256", "12", "https://a/b"], "64 hexadecimal digits"),
    (["fetch", "--size", "1", "https://a/b", "https://a/c"], "one link"),
    (["fetch", "--now", "--priority", "3", "https://a/b"], "not both"),
  ])
  func aWrongLineIsExplained(_ words: [String], _ text: String) throws {
    let outcome = try sluice(words)
    #expect(outcome.status == 2)
    #expect(outcome.err.contains(text), "\(outcome.err)")
  }
}
