import Foundation
import Testing

/// Homes and ledgers that are not valid are left unchanged.
@Suite(.serialized)
struct BadHomeTests {
  private func open() throws -> Inbox {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    try inbox.add("good", "a good one\n")
    return inbox
  }

  @Test(arguments: [
    (99, "has schema version 99, and this sluice knows up to 20; use the newer sluice that wrote it\n"),
    (14, "has schema version 14, of a sluice from before the first release, and nothing brings it up"),
  ])
  func aLedgerOfAnotherVersionIsLeftAlone(version: Int, what: String) throws {
    let inbox = try open()
    #expect(try inbox.run().outcome.status == 0)
    try changeLedger(inbox, "PRAGMA user_version = \(version)")
    try inbox.add("later", "later\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 78)
    #expect(run.outcome.err.hasPrefix("sluice: home/sluice.db \(what)"), "\(run.outcome.err)")
    try changeLedger(inbox, "PRAGMA user_version = 20")
    let again = try inbox.run()
    #expect(again.outcome.status == 0)
    #expect(again.outcome.attachments.count == 1, "what was known is known still")
    try inbox.checkWhole(again)
  }

  @Test(arguments: ["PRAGMA user_version = -1", "CREATE TABLE somebody (elses)"])
  func aDatabaseOfSomethingElseIsLeftAlone(change: String) throws {
    let inbox = try open()
    try FileManager.default.createDirectory(
      atPath: inbox.folder.path + "/home", withIntermediateDirectories: true)
    try changeLedger(inbox, change)
    let before = try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db"))
    let run = try inbox.run()
    #expect(run.outcome.status == 70)
    #expect(
      run.outcome.err
        == "sluice: home/sluice.db: is a database of something else, and stays as it is; move it away, or begin with "
        + "another --home\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db")) == before)
  }

  @Test func aLedgerThatIsNoDatabaseIsLeftAlone() throws {
    let inbox = try open()
    let noise = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
    try inbox.folder.write("home/sluice.db", noise)
    let run = try inbox.run()
    #expect(run.outcome.status == 70)
    #expect(
      run.outcome.err
        == "sluice: home/sluice.db: file is not a database; `sluice verify` tells more; restore it from a backup, or begin "
        + "with another --home\n"
    )
    #expect(try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db")) == noise)
  }

  @Test func aHomeThatIsAFileIsToldWithARemedy() throws {
    let inbox = try open()
    try inbox.folder.write("home", "not a folder\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 78)
    #expect(
      run.outcome.err
        == "sluice: making home/store: Not a directory; give a home that can be written, with --home\n")
    #expect(try inbox.folder.read("home") == "not a folder\n")
  }

  @Test(.enabled(if: Mounts.areAllowed, "skipped: no right to mount a file system"))
  func aReadOnlyHomeIsToldWithARemedy() throws {
    let inbox = try open()
    #expect(try inbox.run().outcome.status == 0)
    let home = inbox.folder.path + "/home"
    try #require(try FixtureStages.run("/bin/mount", ["--bind", home, home]) == 0)
    defer { _ = try? FixtureStages.run("/bin/umount", [home]) }
    try #require(try FixtureStages.run("/bin/mount", ["-o", "remount,ro,bind", home]) == 0)
    for (options, doing) in [
      ([String](), "opening home/sluice.lock"), (["--home", "home/new"], "making home/new"),
    ] {
      let run = try inbox.run(options: options)
      #expect(run.outcome.status == 78)
      #expect(
        run.outcome.err
          == "sluice: \(doing): Read-only file system; give a home that can be written, with --home\n")
    }
  }

  @Test(arguments: [
    (
      ["ingest", "in"],
      "opening home/store/.incoming: Not a directory; a folder belongs there: take away what is in its place"
    ),
    (
      ["run"],
      "opening home/store/.incoming: Not a directory; a folder belongs there: take away what is in its place"
    ),
    (
      ["verify"],
      "opening home/store/.incoming: Not a directory; a folder belongs there: take away what is in its place"
    ),
    (["verify", "--repair"], "opening home/store: No such file or directory; put it back where it was"),
    (["status"], ""),
  ])
  func aStoreThatIsNotWholeIsToldWithARemedy(words: [String], saying: String) throws {
    let inbox = try open()
    #expect(try inbox.run().outcome.status == 0)
    let store = inbox.folder.path + "/home/store"
    try FileManager.default.removeItem(atPath: saying.contains(".incoming") ? store + "/.incoming" : store)
    if saying.contains(".incoming") { try inbox.folder.write("home/store/.incoming", "a file\n") }
    try inbox.folder.write("pipeline.yaml", Pipelines.open)
    let outcome = try SluiceCommand.run(words + ["--home", "home"], in: inbox.folder)
    #expect(outcome.status == (saying.isEmpty ? 0 : 78), "\(outcome.err)")
    #expect(saying.isEmpty || outcome.err.hasSuffix("sluice: \(saying)\n"), "\(outcome.err)")
  }

  /// A home's name may contain any byte but zero: in messages it cannot begin a new line, nor make the line
  /// endless.
  @Test(arguments: ["no\nwhere\u{1B}[2J", String(repeating: "x", count: 100_000)])
  func aHomesNameIsPrintedInOneLine(name: String) throws {
    for words in [["list"], ["verify"], ["status"]] {
      let outcome = try SluiceCommand.run(words + ["--home", name], in: try open().folder)
      #expect([2, 78].contains(outcome.status), "\(words)")
      #expect(outcome.err.split(separator: "\n").count == 1 && outcome.err.utf8.count < 10_200, "\(words)")
      #expect(!outcome.err.contains("\u{1B}"))
      #expect(outcome.err.contains("; "), "it says what to do: \(words)")
    }
  }

  @Test func aSecondIngestOnAHomeIsTurnedAway() throws {
    let inbox = try open()
    try inbox.add("a", "misbehave linger\n")
    let first = try inbox.start()
    try inbox.waitForWork()
    let second = try inbox.run()
    #expect(second.outcome.status == 75)
    #expect(
      second.outcome.err
        == "sluice: home is in use by another sluice (process \(first.process.processIdentifier)); wait for it to end, "
        + "or, where it is one that serves or watches, hand it files with `sluice enqueue`; or give another --home\n"
    )
    #expect(second.outcome.out == "")
    let run = try first.end()
    #expect(run.outcome.status == 0)
    #expect(run.outcome.attachments.count == 2)
    try inbox.checkWhole(run)
  }

  private func changeLedger(_ inbox: Inbox, _ sql: String) throws {
    try Inbox.execute(sql, on: inbox.folder.path + "/home/sluice.db")
  }
}
