import Foundation
import Testing

/// `sluice enqueue` passes files to an existing home, and never creates one silently.
struct EnqueueHomeTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("a.txt", "a text\n")
  }

  private func enqueue(_ words: String..., environment: [String: String] = [:]) throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(["enqueue"] + words + ["a.txt"], in: folder, environment: environment)
  }

  @Test(arguments: [[:], ["SLUICE_HOME": ""]])
  func inAWrongFolderNothingIsMade(environment: [String: String]) throws {
    let outcome = try enqueue(environment: environment)
    #expect(outcome.status == 2)
    #expect(
      outcome.err == """
        sluice: ./var has no ledger, and enqueue hands files to a home that is there; run `sluice ingest` or `sluice run` \
        here once, or name the home with --home DIR

        """)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/var"))
  }

  @Test func theHomeOfAnEarlierIngestIsTaken() throws {
    #expect(try SluiceCommand.run(["ingest", "a.txt"], in: folder).status == 0)
    let outcome = try enqueue("--conversation", "c2")
    #expect(outcome.status == 0)
    #expect(outcome.out == "1 queued\n")
    #expect(outcome.err == Printed.idle(""))
  }

  @Test func aHomeThatIsNamedIsMadeAndThatIsSaidOnce() throws {
    let first = try enqueue("--home", "new/home")
    #expect(first.status == 0)
    #expect(first.out == "1 queued\n")
    #expect(first.err == "sluice: made a new home at new/home\n\(Printed.idle(" --home new/home"))")
    #expect(try enqueue("--home", "new/home").err == "", "it is known, so that nothing waits for more")
    let other = try enqueue(environment: ["SLUICE_HOME": folder.path + "/other"])
    #expect(other.status == 0)
    #expect(other.err == "sluice: made a new home at \(folder.path)/other\n\(Printed.idle(""))")
    let quiet = try enqueue("--home", "third", "--quiet")
    #expect(quiet.status == 0)
    #expect(quiet.err == "" && quiet.out == "")
  }

  /// SQLite may take such a name for a URI.
  @Test func aHomeWhoseNameLooksLikeAURIIsOneFolder() throws {
    #expect(try SluiceCommand.run(["ingest", "--home", "file:h", "a.txt"], in: folder).status == 0)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/file:h/sluice.db"))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/h"))
    #expect(try SluiceCommand.run(["status", "--home", "file:h"], in: folder).status == 0)
  }

  /// A command that holds the lock and does not listen is a short one.
  @Test func anIngestWaitsForTheEndOfAShortCommand() throws {
    #expect(try SluiceCommand.run(["ingest", "a.txt"], in: folder).status == 0)
    let lock = open(folder.path + "/var/sluice.lock", O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
    try folder.write("b.txt", "another text\n")
    let ingest = try SluiceCommand.start(
      ["ingest", "b.txt"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
    usleep(1_500_000)
    #expect(ingest.isRunning)
    close(lock)
    ingest.waitUntilExit()
    let said = try folder.read("err")
    #expect(ingest.terminationStatus == 0, "\(said)")
  }
}
