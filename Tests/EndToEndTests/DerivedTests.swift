import Foundation
import Testing

/// Objects that stages leave beside contents: kept with what is completed, with equal ones stored once, and gone with it.
struct DerivedTests {
  private static let stage = "- use: derive"

  private func home(_ stages: String = Self.stage, more: String = "") throws -> DerivedHome {
    try DerivedHome(stages, more: more)
  }

  /// How often a stage has run, results that were used again left out.
  private func runs(_ home: DerivedHome) throws -> Int? {
    try home.count("steps WHERE stage = 'derive' AND message IS NULL")
  }

  @Test func theyAreKeptWithWhatIsCompletedAndToldOf() throws {
    let home = try home()
    try home.add("a.txt", "hello\n")
    #expect(try home.ingest().status == 0)
    let row = try home.row("a.txt")
    let derived = try #require(row.derived)
    #expect(derived.map(\.name) == ["constant", "head"])
    for object in derived {
      let data = try #require(
        FileManager.default.contents(atPath: home.folder.path + "/home/store/" + object.url))
      #expect(object.stage == "derive" && object.mediaType == "text/plain")
      #expect(object.sizeBytes == data.count)
      #expect(try Inbox.sha256(data) == object.sha256)
      #expect(object.url == "derived/\(object.sha256.prefix(2))/\(object.sha256).txt")
    }
    #expect(try home.sluice("get", row.id, "--derived", "head").out == "hello\n")
    #expect(try home.sluice("get", row.id, "--derived", "constant").out == "the same\n")
    let other = try home.sluice("get", row.id, "--derived", "other")
    #expect(other.status != 0 && other.err.contains("there are: constant, head"), "\(other.err)")
    let shown = try home.sluice("show", row.id).out
    #expect(shown.contains("constant") && shown.contains("head"), "\(shown)")
    let schema = try DerivedHome.schema()
    let events = try home.events()
    #expect(events.count == 1)
    for event in events {
      #expect(try schema.problems(event) == [], "\(event)")
      #expect(try JSON(event)["data"]["derived"].elements.map { $0["name"].text } == ["constant", "head"])
    }
    try home.checkWhole()
  }

  @Test func nothingIsLeftOfWhatIsNotCompleted() throws {
    let home = try home(
      """
      - use: derive
        on-crash: retry
      - use: misbehave
        on-crash: hold
      """)
    try home.add("rejected", "reject this\n")
    try home.add("failed", "misbehave unknown-verdict\n")
    try home.add("quarantined", "misbehave segfault\n")
    try home.add("crashed", "act crash\n")
    try home.add("kept", "well-behaved\n")
    #expect(try home.ingest().status == 1)
    let statuses = try home.rows().map { "\($0.fileName) \($0.status)" }.sorted()
    #expect(
      statuses == [
        "crashed quarantined", "failed failed", "kept completed", "quarantined quarantined",
        "rejected rejected",
      ])
    let derived = try home.rows().filter { $0.derived != nil }.map(\.fileName)
    #expect(derived == ["kept"])
    #expect(try home.count("derived") == 2)
    #expect(home.derivedFiles.count == 2)
    try home.checkWhole()
  }

  @Test func equalOnesAreOneObjectThatGoesWithItsLastUser() throws {
    let home = try home()
    for name in ["a.txt", "b.txt"] { try home.add(name, "text of \(name)\n") }
    #expect(try home.ingest().status == 0)
    let (a, b) = (try home.row("a.txt"), try home.row("b.txt"))
    let shared = try #require(a.derived?.first).url
    #expect(b.derived?.first?.url == shared)
    #expect(try home.ledger("SELECT uses FROM names WHERE path = '\(shared)'") == "2")
    #expect(home.derivedFiles.count == 3)
    #expect(try home.sluice("delete", a.id).status == 0)
    #expect(try home.ingest().status == 0)
    #expect(try home.ledger("SELECT uses FROM names WHERE path = '\(shared)'") == "1")
    #expect(home.derivedFiles == (b.derived ?? []).map(\.url).sorted())
    #expect(try home.sluice("get", b.id, "--derived", "constant").out == "the same\n")
    try home.checkWhole()
    #expect(try home.sluice("delete", b.id).status == 0)
    #expect(try home.ingest().status == 0)
    #expect(home.derivedFiles == [])
    try home.checkWhole()
  }

  @Test func equalContentHasThemWithoutTheStage() throws {
    let home = try home()
    try home.add("a.txt", "the content\n")
    #expect(try home.ingest().status == 0)
    #expect(try runs(home) == 1)
    try home.add("b.txt", "the content\n")
    #expect(try home.ingest().status == 0)
    #expect(try runs(home) == 1)
    #expect(try home.row("b.txt").derived == home.row("a.txt").derived)
    #expect(home.derivedFiles.count == 2)
    // They are the second's own: those of the first may go.
    #expect(try home.sluice("delete", try home.row("a.txt").id).status == 0)
    #expect(try home.ingest().status == 0)
    #expect(try home.sluice("get", try home.row("b.txt").id, "--derived", "head").out == "the content\n")
    try home.checkWhole()
  }

  @Test func equalContentsInOneRunDeriveOnce() throws {
    let home = try home()
    for number in 0..<30 { try home.add("\(number).txt", "the content\n") }
    #expect(try home.ingest().status == 0)
    #expect(try runs(home) == 1)
    #expect(try home.rows().allSatisfy { $0.derived?.count == 2 })
    #expect(
      try home.ledger("SELECT group_concat(DISTINCT uses) FROM names WHERE path GLOB 'derived/*'") == "30")
    try home.checkWhole()
  }

  /// A stage that was left out leaves none the next time, and those of before go.
  @Test func whatIsWorkedOnAgainHasThoseOfTheLastTime() throws {
    let home = try home()
    try home.add("a.txt", "the content\n")
    #expect(try home.ingest().status == 0)
    let before = try home.row("a.txt")
    try home.pipeline("- use: oracle\n" + Self.stage)
    #expect(try home.sluice("replay", "--apply", before.id).status == 0)
    #expect(try home.row("a.txt").status == "queued" && home.row("a.txt").derived == nil)
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").derived == before.derived)
    try home.checkWhole()
    try home.pipeline("- use: oracle\n- { use: size, options: { max: 3B } }")
    #expect(try home.sluice("replay", "--apply", before.id).status == 0)
    #expect(try home.ingest().status == 1)
    #expect(try home.row("a.txt").status == "rejected" && home.row("a.txt").derived == nil)
    #expect(home.derivedFiles == [])
    try home.checkWhole()
  }

  @Test func whatFailedHasThemOnceItIsTriedAgainAndCompleted() throws {
    let home = try home(
      """
      - use: derive
      - use: misbehave
        on-crash: hold
      """)
    try home.add("a.txt", "misbehave segfault\n")
    #expect(try home.ingest().status == 1)
    #expect(try home.row("a.txt").derived == nil)
    try home.pipeline(Self.stage)
    #expect(try home.sluice("retry", try home.row("a.txt").id).status == 0)
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").derived?.map(\.name) == ["constant", "head"])
    try home.checkWhole()
  }

  // MARK: What a stage does

  @Test func sixtyFourAreKeptAtMost() throws {
    let home = try home()
    try home.add("a.txt", "act many\n")
    #expect(try home.ingest().status == 0)
    let names = try #require(try home.row("a.txt").derived).map(\.name)
    #expect(names.count == 64)
    #expect(Set(names) == Set(["head", "constant"] + (0..<62).map { "n-\($0)" }))
    try home.checkWhole()
  }

  @Test func whatIsNoNameIsDroppedWithAWord() throws {
    let home = try home()
    try home.add("a.txt", "act names\n")
    let ingest = try home.ingest()
    #expect(ingest.status == 0)
    #expect(try home.row("a.txt").derived?.map(\.name) == ["constant", "head"])
    let run = try SluiceCommand.run(
      ["stages", "run", "derive", "in/a.txt", "--trace"], in: home.folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    for name in ["''", "'../x'", "'A'", "'a b'", "'-a'", "'a-'", "'a--b'", "'a/b'"] {
      #expect(run.err.contains(name) || run.out.contains(name), "\(name): \(run.out) \(run.err)")
    }
    try home.checkWhole()
  }

  @Test func theLaterOfTwoWithOneNameIsKept() throws {
    let home = try home()
    try home.add("a.txt", "act twice\n")
    #expect(try home.ingest().status == 0)
    let row = try home.row("a.txt")
    #expect(row.derived?.map(\.name) == ["constant", "head"])
    #expect(try home.sluice("get", row.id, "--derived", "head").out == "later")
    #expect(home.derivedFiles.count == 2)
    try home.checkWhole()
  }

  @Test func aStageThatCutsItsFileHasNotAnswered() throws {
    let home = try home("- { use: derive, on-crash: hold }")
    try home.add("a.txt", "act cut\n")
    try home.add("b.txt", "another\n")
    #expect(try home.ingest().status == 1)
    let row = try home.row("a.txt")
    #expect(row.code == "invalid-reply", "\(String(describing: row.reason))")
    #expect(try home.row("b.txt").derived?.count == 2)
    try home.checkWhole()
  }

  @Test func moreThanItMayWriteEndsIt() throws {
    let home = try home("- { use: derive, on-crash: reject, output: 1MB }")
    try home.add("a.txt", "act flood\n")
    try home.add("b.txt", "another\n")
    #expect(try home.ingest().status == 1)
    #expect(try home.row("a.txt").code == "output-limit")
    #expect(try home.row("b.txt").derived?.count == 2)
    try home.checkWhole()
  }

  /// In one worker: what the first has left counts, and of the one that crashes nothing.
  @Test func whatStagesBeforeACrashHaveLeftIsKept() throws {
    let home = try home(
      """
      - use: derive
      - { use: misbehave, on-crash: pass }
      """)
    try home.add("a.txt", "misbehave segfault\n")
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").derived?.map(\.name) == ["constant", "head"])
    let crash = try DerivedHome("- { use: derive, on-crash: pass }")
    try crash.add("a.txt", "act crash\n")
    #expect(try crash.ingest().status == 0)
    #expect(try crash.row("a.txt").derived == nil)
    for home in [home, crash] { try home.checkWhole() }
  }

  // MARK: What harms them

  @Test func thoseThatAreNotWhatTheyWereAreMadeAnew() throws {
    for harm in ["damaged", "missing"] {
      let home = try home()
      // Longer than its head, which could be found in it otherwise.
      let text = String(repeating: "text\n", count: 20)
      try home.add("a.txt", text)
      try home.add("b.txt", "text b\n")
      #expect(try home.ingest().status == 0)
      let row = try home.row("a.txt")
      let url = try #require(row.derived?.first { $0.name == "head" }).url
      let path = home.folder.path + "/home/store/" + url
      if harm == "damaged" {
        try Data("other text\n".utf8).write(to: URL(fileURLWithPath: path))
      } else {
        try FileManager.default.removeItem(atPath: path)
      }
      let found = try home.sluice("verify", "--format", "json")
      #expect(found.status == 1)
      let findings = found.records(Printed.Finding.self)
      #expect(
        findings.map(\.code) == ["object-\(harm)"] && findings.first?.place == "store/\(url)", "\(found.out)")
      let repaired = try home.sluice("verify", "--repair")
      #expect(repaired.out.contains("makes its head anew"), "\(repaired.out)")
      #expect(try home.row("a.txt").status == "queued")
      #expect(try home.ingest().status == 0)
      #expect(try home.row("a.txt").derived == row.derived)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == String(text.prefix(64)))
      try home.checkWhole()
    }
  }

  /// One that several have: all of them are worked on again.
  @Test func aSharedOneThatIsLostIsMadeAnewForAll() throws {
    let home = try home()
    for name in ["a.txt", "b.txt", "c.txt"] { try home.add(name, "text of \(name)\n") }
    #expect(try home.ingest().status == 0)
    let url = try #require(try home.row("a.txt").derived?.first).url
    try FileManager.default.removeItem(atPath: home.folder.path + "/home/store/" + url)
    #expect(try home.sluice("verify", "--repair").status == 0)
    #expect(try home.ingest().status == 0)
    #expect(try home.rows().allSatisfy { $0.derived?.count == 2 })
    try home.checkWhole()
  }

  @Test func oneThatIsNoAttachmentsGoesToLostAndFound() throws {
    let home = try home()
    try home.add("a.txt", "text a\n")
    #expect(try home.ingest().status == 0)
    let stray = "derived/ab/ab\(String(repeating: "0", count: 62)).txt"
    try home.folder.write("home/store/" + stray, "stray\n")
    try home.folder.write("home/store/.incoming/1.1.\(try home.row("a.txt").id)~other", "left over\n")
    let found = try home.sluice("verify", "--format", "json")
    #expect(Set(found.records(Printed.Finding.self).map(\.code)) == ["orphan", "leftover"], "\(found.out)")
    #expect(try home.sluice("verify", "--repair").status == 0)
    #expect(home.folder.files(below: "home/lost+found").contains { $0.hasSuffix(stray) })
    try home.checkWhole()
  }

  @Test func aCopyOfTheLedgerHasThem() throws {
    let home = try home()
    try home.add("a.txt", "text a\n")
    #expect(try home.ingest().status == 0)
    let row = try home.row("a.txt")
    #expect(try home.sluice("backup", "copy.db").status == 0)
    try home.add("b.txt", "text b\n")
    #expect(try home.ingest().status == 0)
    let files = FileManager.default
    for name in ["sluice.db", "sluice.db-wal", "sluice.db-shm"] {
      try? files.removeItem(atPath: home.folder.path + "/home/" + name)  // not each is there
    }
    try files.copyItem(atPath: home.folder.path + "/copy.db", toPath: home.folder.path + "/home/sluice.db")
    // What came after the copy is an orphan, until it is taken in again.
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").derived == row.derived)
    #expect(try home.row("b.txt").derived?.count == 2)
    #expect(try home.sluice("get", row.id, "--derived", "head").out == "text a\n")
  }

  @Test func whatIsKeptNoLongerGoesWithThem() throws {
    let home = try home(more: "keep: { completed: 1s }")
    try home.add("a.txt", "text a\n")
    #expect(try home.ingest().status == 0)
    #expect(home.derivedFiles.count == 2)
    try Resident.wait("it is kept no longer") {
      #expect(try home.sluice("prune").status == 0)
      return try home.rows().isEmpty
    }
    #expect(home.derivedFiles == [])
    try home.checkWhole()
  }
}
