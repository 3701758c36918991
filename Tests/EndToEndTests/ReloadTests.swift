import Foundation
import Testing

/// SIGHUP has `sluice run` read its pipeline again.
@Suite(.serialized)
struct ReloadTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try limit("1KB")
    for number in 0..<40 { try folder.write("in/\(number).txt", "text number \(number)\n") }
  }

  private func limit(_ size: String) throws {
    try folder.write("pipeline.yaml", Pipelines.storing("- { use: size, options: { max: \(size) } }"))
  }

  private func enqueue(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["enqueue", "--home", "home"] + words, in: folder)
  }

  /// Waits until it says something once more than before.
  private func reload(_ resident: Resident, until said: String) throws {
    let before = resident.errors.components(separatedBy: said).count
    kill(resident.process.processIdentifier, SIGHUP)
    try Resident.wait("it says '\(said)'") {
      resident.errors.components(separatedBy: said).count > before || !resident.process.isRunning
    }
  }

  @Test func aChangedPipelineHoldsForWhatBeginsAfterIt() throws {
    let resident = try Resident(folder)
    let long = String(repeating: "long\n", count: 500)
    try folder.write("long-1.txt", long)
    try folder.write("long-2.txt", long)
    #expect(try enqueue("--wait", "long-1.txt").status == 1)
    try limit("1MB")
    try reload(resident, until: "the pipeline was read again")
    #expect(try enqueue("--wait", "long-2.txt").status == 0)
    try limit("1KB")
    try reload(resident, until: "the pipeline was read again")
    #expect(resident.stop() == 0)
    #expect(resident.ended.map(\.status) == ["rejected", "completed"])
  }

  @Test func aFaultyPipelineIsToldAndTheOldOneStays() throws {
    let resident = try Resident(folder)
    try folder.write(
      "pipeline.yaml", "version: 1\nstages:\n  - use: mimee\n  - use: size\n    options: { mx: 1KB }\n")
    try reload(resident, until: "pipeline.yaml is not used; the pipeline stays as it was")
    #expect(resident.errors.contains("pipeline.yaml:3:10: unknown stage 'mimee'; did you mean 'mime'?"))
    #expect(resident.errors.contains("unknown option 'mx'"), "all that is wrong is told")
    try FileManager.default.removeItem(atPath: folder.path + "/pipeline.yaml")
    try reload(resident, until: "No such file or directory")
    #expect(try enqueue("--wait", "in").status == 0)
    #expect(resident.stop() == 0)
  }

  /// The socket stays, no file is lost or worked on twice, and every client is answered.
  @Test func clientsNoticeNothing() throws {
    let resident = try Resident(folder)
    let clients = try (0..<4).map { client in
      try SluiceCommand.start(
        ["enqueue", "--home", "home", "--conversation", "c\(client)", "--wait", "in"], in: folder,
        out: "\(folder.path)/\(client).out", err: "\(folder.path)/\(client).err")
    }
    for round in 0..<6 {
      try limit(round % 2 == 0 ? "2KB" : "3KB")
      kill(resident.process.processIdentifier, SIGHUP)
      usleep(150_000)
    }
    for (number, client) in clients.enumerated() {
      client.waitUntilExit()
      let said = try folder.read("\(number).err")
      #expect(client.terminationStatus == 0, "\(said)")
    }
    try resident.wait(for: 160)
    #expect(resident.stop() == 0)
    #expect(Set(resident.ended.map(\.id)).count == 160 && resident.ended.allSatisfy { $0.isCompleted })
    #expect(resident.errors.contains("the pipeline was read again"))
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }

  @Test func aSignalThatComesMeanwhileIsTheFirst() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    for number in 0..<6 { try inbox.add("slow-\(number)", "misbehave dawdle\n") }
    let resident = try Resident(
      inbox.folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in"], in: inbox.folder).status == 0)
    try inbox.waitForWork()
    // Once what waits has been given back, the rest is in hand until it has ended.
    kill(resident.process.processIdentifier, SIGHUP)
    usleep(700_000)
    #expect(!resident.errors.contains("was read again"), "it has not handed over yet")
    #expect(resident.stop() == 0, "\(resident.errors)")
    #expect(resident.ended.allSatisfy { $0.isCompleted })
    #expect(try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'leased'") == "0")
  }

  /// Work in hand has 20 seconds from that signal on, as without the other.
  @Test func aSignalThatComesMeanwhileBoundsWhatIsInHand() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 5m")
    try inbox.add("slow", "misbehave doze\n")
    let resident = try Resident(
      inbox.folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in"], in: inbox.folder).status == 0)
    try Resident.wait("a stage works") {
      try SluiceCommand.run(["status", "--home", "home"], in: inbox.folder).out.contains("misbehave")
    }
    kill(resident.process.processIdentifier, SIGHUP)
    usleep(200_000)
    #expect(resident.stop() == 0, "\(resident.errors)")
    #expect(try inbox.ledger("SELECT status FROM attachments") == "queued", "it sleeps for a minute")
  }

  @Test func aFolderIsWatchedOnAndASignalEndsItAtAnyTime() throws {
    let resident = try Resident(folder, options: ["--watch", "in", "--quiet-for", "100ms"])
    try resident.wait(for: 40)
    try reload(resident, until: "the pipeline was read again")
    try folder.write("in/late.txt", "a late one\n")
    try resident.wait(for: 41)
    kill(resident.process.processIdentifier, SIGHUP)
    #expect(resident.stop() == 0, "\(resident.errors)")
  }
}
