import Foundation
import Testing

/// A missing store or ledger is never silently replaced by a new one: stopping with a message is better than
/// repeating work and deliveries, or storing objects where they will be hidden.
@Suite(.serialized)
struct StoreAwayTests {
  private let folder: TemporaryFolder
  private var store: String { folder.path + "/home/store" }

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for number in 0..<3 { try folder.write("in/\(number).txt", "text \(number)\n") }
    #expect(try sluice("ingest", "in").status == 0)
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func events() throws -> Int {
    try folder.read("home/events.jsonl").split(separator: "\n").count
  }

  static let commands = [["ingest", "in"], ["ingest", "more"], ["run"], ["verify", "--repair"]]

  @Test(arguments: commands) func aStoreThatIsAwayIsNotReplaced(words: [String]) throws {
    try FileManager.default.moveItem(atPath: store, toPath: store + "-away")
    try folder.write("more/x.txt", "another\n")
    let outcome = try SluiceCommand.run(words + ["--home", "home"], in: folder)
    #expect(outcome.status == 78, "\(outcome.out) \(outcome.err)")
    #expect(outcome.err.contains("home/store"), "\(outcome.err)")
    #expect(!FileManager.default.fileExists(atPath: store))
    try FileManager.default.moveItem(atPath: store + "-away", toPath: store)
    #expect(try sluice("ingest", "more").status == 0)
    #expect(try sluice("verify").status == 0)
  }

  /// As if the store's file system were not mounted.
  @Test(arguments: commands) func anEmptyStoreInItsPlaceIsNotUsed(words: [String]) throws {
    try FileManager.default.moveItem(atPath: store, toPath: store + "-away")
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
    try folder.write("more/x.txt", "another\n")
    let outcome = try SluiceCommand.run(words + ["--home", "home"], in: folder)
    #expect(outcome.status == 78, "\(outcome.out) \(outcome.err)")
    #expect(
      outcome.err.contains("home/store is empty, and the ledger has objects in it; mount it or put it back"))
    #expect(folder.files(below: "home/store").isEmpty)
  }

  @Test func aStoreThatIsLostIsBegunAnewByAWord() throws {
    try FileManager.default.removeItem(atPath: store)
    try FileManager.default.createDirectory(atPath: store + "/.incoming", withIntermediateDirectories: true)
    let repaired = try sluice("verify", "--repair")
    #expect(repaired.out.contains("queued"), "\(repaired.out) \(repaired.err)")
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try sluice("verify").status == 0)
    #expect(folder.files(below: "home/store").count == 3)
  }

  /// An attachment is recorded before its object gets its path: a failure after that can only be retried.
  @Test(arguments: ["rename", "mkdir"]) func aStoreThatFailsAfterTheCommitPausesItsLaneAndIsTriedAgain(
    call: String
  )
    throws
  {
    let faults = try FaultLibrary(folder, home: folder.path + "/home")
    let resident = try Resident(folder, environment: try faults.environment())
    faults.set(.init(match: "coordinator \(call)", nth: 1, action: .fail, error: EIO, isForever: true))
    try folder.write("more/x.txt", "another\n")
    try folder.write("more/y.txt", "and another\n")
    #expect(try sluice("enqueue", "more").status == 0)
    try Resident.wait("it says so") {
      resident.errors.contains("paused: attachments: store-failed: ") || !resident.process.isRunning
    }
    #expect(resident.process.isRunning, "\(resident.errors)")
    #expect(try sluice("status").out.contains("store-failed"))
    usleep(1_200_000)
    #expect(folder.files(below: "home/store").filter { !$0.contains(".incoming") }.count == 3)
    faults.set(nil)
    try Resident.wait("it goes on") { resident.errors.contains("trying again: attachments") }
    try resident.wait(for: 2)
    #expect(resident.stop() == 0, "\(resident.errors)")
    #expect(try sluice("verify").status == 0)
  }

  /// Another attachment could take its path.
  @Test func nothingIsBegunBeforeTheObjectsOfEarlierRunsHaveTheirPaths() throws {
    let record = try #require(try sluice("list", "--format", "json").attachments.first)
    let url = try #require(record.url)
    try FileManager.default.moveItem(atPath: "\(store)/\(url)", toPath: "\(store)/.incoming/\(record.id)")
    let faults = try FaultLibrary(folder, home: folder.path + "/home")
    faults.set(.init(match: "coordinator rename", nth: 1, action: .fail, error: EIO, isForever: true))
    let resident = try Resident(folder, environment: try faults.environment())
    try Resident.wait("it says so") {
      resident.errors.contains("paused: attachments: store-failed: ") || !resident.process.isRunning
    }
    try folder.write("more/x.txt", "another\n")
    #expect(try sluice("enqueue", "more").status == 0)
    usleep(1_200_000)
    #expect(resident.process.isRunning && resident.ended.isEmpty, "\(resident.errors)")
    faults.set(nil)
    try resident.wait(for: 1)
    #expect(resident.stop() == 0, "\(resident.errors)")
    #expect(FileManager.default.fileExists(atPath: "\(store)/\(url)"))
    #expect(try sluice("verify").status == 0)
  }

  /// The coordinator has the store's folder open: what it renames goes on going there, wherever that is.
  @Test(arguments: ["moved", "replaced", "begun anew", "a file"])
  func aStoreThatIsTakenAwayDuringARunEndsTheCoordinatorBeforeAnythingIsTold(how: String) throws {
    let resident = try Resident(folder)
    // A coordinator that finds no store ends with another message.
    try Resident.suspend(resident.process.processIdentifier)
    try FileManager.default.moveItem(atPath: store, toPath: store + "-away")
    switch how {
    case "replaced":
      try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
    case "begun anew":
      try FileManager.default.createDirectory(
        atPath: store + "/.incoming", withIntermediateDirectories: true)
    case "a file": try folder.write("home/store", "stray\n")
    default: break
    }
    kill(resident.process.processIdentifier, SIGCONT)
    try folder.write("more/x.txt", "another\n")
    _ = try sluice("enqueue", "more")
    try Resident.wait("it ends") { !resident.process.isRunning }
    #expect(resident.stop() == 75 && resident.ended.isEmpty, "\(resident.errors)")
    #expect(
      resident.errors.contains("home/store was deleted, moved or replaced while it was worked on"),
      "\(resident.errors)")
    try? FileManager.default.removeItem(atPath: store)
    try FileManager.default.moveItem(atPath: store + "-away", toPath: store)
    #expect(try sluice("ingest", "more").status == 0)
    #expect(try sluice("verify").status == 0)
    #expect(folder.files(below: "home/store").count == 4)
  }

  /// The reserve is given away when the disk is full; the mark of a used home is its store.
  @Test(arguments: ["removed", "emptied", "with its reserve", "elsewhere"])
  func aLedgerThatIsGoneIsNotMadeAnew(how: String) throws {
    let before = try events()
    for name in ["sluice.db-wal", "sluice.db-shm", "sluice.db"] {
      try? FileManager.default.removeItem(atPath: folder.path + "/home/" + name)
    }
    switch how {
    case "emptied": try folder.write("home/sluice.db", "")
    case "with its reserve": try FileManager.default.removeItem(atPath: folder.path + "/home/reserve")
    case "elsewhere":
      try FileManager.default.createSymbolicLink(
        atPath: folder.path + "/home/sluice.db", withDestinationPath: folder.path + "/not-mounted/sluice.db")
    default: break
    }
    for words in [
      ["ingest", "in"], ["enqueue", "in"], ["run"], ["status"], ["list"], ["verify"], ["verify", "--repair"],
      ["backup", "copy.db"],
    ] {
      let outcome = try SluiceCommand.run(words + ["--home", "home"], in: folder)
      // `verify` reports the damage.
      let isFound = words[0] == "verify"
      #expect(outcome.status == (isFound ? 1 : 70), "\(words): \(outcome.status) \(outcome.err)")
      #expect(
        (isFound ? outcome.out : outcome.err).contains(
          "home/sluice.db is gone or empty, and home/store has objects; restore it from a backup"),
        "\(words): \(outcome.out) \(outcome.err)")
    }
    #expect(try events() == before)
    try FileManager.default.moveItem(atPath: store, toPath: store + "-old")
    if how == "elsewhere" { try FileManager.default.removeItem(atPath: folder.path + "/home/sluice.db") }
    #expect(try sluice("ingest", "in").status == 0, "to move the store away is to begin anew")
  }
}
