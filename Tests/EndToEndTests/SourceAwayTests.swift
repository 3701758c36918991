import Foundation
import Testing

/// Sources that are unavailable for a while: the fault is the host's, and no attachment fails because of it.
@Suite(.serialized)
struct SourceAwayTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml", Pipelines.open.replacingOccurrences(of: "max: 1s", with: "max: 200ms"))
    for number in 0..<40 { try folder.write("nas/inbox/\(number).txt", "text \(number)\n") }
    for number in 0..<5 { try folder.write("here/\(number).txt", "other text \(number)\n") }
  }

  private func ingest(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["ingest", "--home", "home", "--format", "json"] + words, in: folder)
  }

  private func enqueue(_ words: String...) throws {
    let outcome = try SluiceCommand.run(["enqueue", "--home", "home"] + words, in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  private func move(_ from: String, _ to: String) throws {
    try FileManager.default.moveItem(atPath: "\(folder.path)/\(from)", toPath: "\(folder.path)/\(to)")
  }

  /// The number of attachments by status.
  private func counts() throws -> [String: Int] {
    let listed = try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
    return Dictionary(grouping: listed.attachments, by: \.status).mapValues(\.count)
  }

  @Test(arguments: ["nas", "nas/inbox"]) func filesOfAFolderThatIsAwayWaitAndAreWorkedOnOnceItIsBack(
    away: String
  ) throws {
    try enqueue("nas", "here")
    try move(away, "moved")
    let first = try ingest("here")
    #expect(first.status == 75, "\(first.err)")
    #expect(try first.summary.completed == 5)
    #expect(try first.summary.failed == 0)
    #expect(try first.summary.waitingForSource == 40)
    #expect(
      first.err.contains("40 attachments not worked on: the folder \(folder.path)/\(away) is away"),
      "\(first.err)")
    #expect(first.err.split(separator: "\n").count < 12, "it is told once: \(first.err)")
    #expect(try counts() == ["completed": 5, "queued": 40])
    let second = try ingest("here")
    #expect(second.status == 75, "again nothing is lost: \(second.err)")
    try move("moved", away)
    let third = try ingest("here")
    #expect(third.status == 0, "\(third.err)")
    #expect(try counts() == ["completed": 45])
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }

  @Test(.enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
  func filesOfADiskThatIsNotMountedWait() throws {
    let point = folder.path + "/disk"
    var disk: SmallDisk? = try SmallDisk(point, size: "4m")
    for number in 0..<20 { try folder.write("disk/\(number).txt", "on a disk \(number)\n") }
    try enqueue("disk")
    // The file system's content stays as long as it is mounted somewhere.
    try FileManager.default.createDirectory(atPath: folder.path + "/aside", withIntermediateDirectories: true)
    try #require(try FixtureStages.run("/bin/mount", ["--bind", point, folder.path + "/aside"]) == 0)
    defer { umount2(folder.path + "/aside", Int32(MNT_DETACH)) }
    disk = nil
    let first = try ingest("here")
    #expect(first.status == 75, "\(first.err)")
    #expect(first.err.contains("is it mounted?"), "\(first.err)")
    #expect(try counts() == ["completed": 5, "queued": 20])
    try #require(try FixtureStages.run("/bin/mount", ["--bind", folder.path + "/aside", point]) == 0)
    defer { umount2(point, Int32(MNT_DETACH)) }
    #expect(try ingest("here").status == 0)
    #expect(try counts() == ["completed": 25])
    _ = disk
  }

  /// The error of a broken disk: reading a process's memory at address 0 is an input/output error.
  @Test(.enabled(if: geteuid() == 0)) func aFileThatOpensAndCannotBeReadWaitsToo() throws {
    let before = Date()
    let outcome = try ingest("here", "/proc/\(getpid())/mem")
    #expect(outcome.status == 75, "\(outcome.err)")
    #expect(Date().timeIntervalSince(before) < 20, "it does not wait for ever")
    #expect(outcome.err.contains("Input/output error"), "\(outcome.err)")
    #expect(try outcome.summary.completed == 5)
    #expect(try outcome.summary.failed == 0)
  }

  @Test func aFileThatIsGoneWhileItsFolderIsThereFailsAfterRetries() throws {
    try enqueue("nas")
    try FileManager.default.removeItem(atPath: folder.path + "/nas/inbox/7.txt")
    let outcome = try ingest("here")
    #expect(outcome.status == 1, "\(outcome.err)")
    let gone = try #require(outcome.attachments.first { $0.status == "failed" })
    #expect(gone.code == "missing")
    #expect(gone.message.hasSuffix("(attempt 3, the last)"))
    #expect(try outcome.summary.completed == 44)
  }

  /// The remedy that the message names.
  @Test func whatIsGoneForGoodFailsOnceItsFolderIsMadeAgain() throws {
    try enqueue("nas")
    try FileManager.default.removeItem(atPath: folder.path + "/nas")
    let first = try ingest("here")
    #expect(first.status == 75)
    #expect(first.err.contains("make an empty folder in its place, and they fail"), "\(first.err)")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/nas/inbox", withIntermediateDirectories: true)
    let second = try ingest("here")
    #expect(second.status == 1, "\(second.err)")
    #expect(try counts() == ["completed": 5, "failed": 40])
  }

  @Test func aResidentCoordinatorGoesOnByItselfOnceTheFolderIsBack() throws {
    try enqueue("nas", "here")
    try move("nas", "moved")
    let resident = try Resident(folder)
    try resident.wait(for: 5)
    try Resident.wait("it says what is away") { resident.errors.contains("/nas is away") }
    usleep(500_000)
    try move("moved", "nas")
    try resident.wait(for: 45)
    #expect(resident.ended.allSatisfy { $0.isCompleted })
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  // MARK: Known files

  @Test func filesThatAreKnownAndWereNotCompletedEndWithOne() throws {
    try folder.write("here/empty.txt", "")
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    #expect(try ingest("here").status == 1)
    let again = try ingest("here")
    #expect(again.status == 1, "\(again.err)")
    #expect(try again.summary.known == 6)
    #expect(try again.summary.knownNotCompleted == 1)
    #expect(try again.summary.notTakenIn == 0)
    let text = try SluiceCommand.run(["ingest", "--home", "home", "here", "nowhere"], in: folder)
    #expect(text.status == 1)
    #expect(
      text.out.contains(
        "6 known from before, left as they are; 1 of them are not completed or hold contents that are not, which `sluice retry` tries again: sluice list --status "
          + "rejected,failed,quarantined,cancelled --home home"), "\(text.out)")
    #expect(text.out.contains("1 not taken in, see above"))
  }
}
