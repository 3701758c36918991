import Foundation
import Testing

/// Contents that stages take out of contents: each is an attachment of its own, and its parent ends after it.
struct ExpansionTests {
  private static let stage = "- use: expand"

  private func home(_ stages: String = Self.stage, isStored: Bool = true, more: String = "") throws
    -> DerivedHome
  {
    try DerivedHome(stages, isStored: isStored, more: more)
  }

  /// When an attachment ended, in milliseconds since 1970.
  private func end(_ row: DerivedHome.Row, _ home: DerivedHome) throws -> Int {
    try #require(
      try home.ledger("SELECT finished_at FROM attachments WHERE id = '\(row.id)'").flatMap { Int($0) })
  }

  // MARK: The way of a tree

  @Test(arguments: [true, false]) func eachContentIsAnAttachmentOfTheSameMessage(isStored: Bool) throws {
    let home = try home(isStored: isStored)
    try home.add("a.txt", "head\n>one\n>two\n")
    let ingest = try home.ingest()
    #expect(ingest.status == 0, "\(ingest.out) \(ingest.err)")
    let parent = try home.row("a.txt")
    #expect(parent.parentId == nil)
    #expect(parent.children == ["count": 2, "completed": 2])
    for (name, content) in [("line-1.txt", "one"), ("line-2.txt", "two")] {
      let child = try home.row(name)
      #expect(child.parentId == parent.id && child.messageId == parent.messageId)
      #expect(child.status == "completed" && child.children.isEmpty)
      let declared = try home.ledger("SELECT declared_type FROM attachments WHERE id = '\(child.id)'")
      #expect(declared == "text/plain")
      if isStored { #expect(try home.sluice("get", child.id).out == content) }
      #expect(try end(child, home) <= end(parent, home), "it ends before its parent")
    }
    #expect(Set(try home.rows("--parent", parent.id).map(\.fileName)) == ["line-1.txt", "line-2.txt"])
    #expect(try home.rows("--parent", try home.row("line-1.txt").id).isEmpty)
    let schema = try DerivedHome.schema()
    let events = try home.events()
    #expect(events.count == 3, "each is told of once")
    for event in events { #expect(try schema.problems(event) == [], "\(event)") }
    #expect(
      try JSON(try #require(events.last))["data"]["fileName"].text == "a.txt", "the parent's is the last")
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
  }

  @Test func contentsInsideContentsEndFromTheInside() throws {
    let home = try home()
    try home.add("a.txt", ">one|>inner\n>two\n")
    #expect(try home.ingest().status == 0)
    let rows = try home.rows()
    #expect(rows.count == 4 && rows.allSatisfy { $0.status == "completed" })
    let root = try home.row("a.txt")
    let middle = try #require(rows.first { $0.parentId == root.id && $0.fileName == "line-1.txt" })
    let leaf = try #require(rows.first { $0.parentId == middle.id })
    #expect(root.children == ["count": 2, "completed": 2])
    #expect(middle.children == ["count": 1, "completed": 1])
    #expect(try end(leaf, home) <= end(middle, home))
    #expect(try end(middle, home) <= end(root, home))
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
  }

  @Test func theParentSaysWhatBecameOfThem() throws {
    let home = try home()
    try home.add("a.txt", ">bad one\n>two\n>bad three\n")
    #expect(try home.ingest().status == 1)
    #expect(try home.row("a.txt").status == "completed")
    #expect(try home.row("a.txt").children == ["count": 3, "completed": 1, "rejected": 2])
    #expect(try home.row("line-1.txt").code == "unwanted")
    // The content of what is not completed stays: it may be tried again.
    #expect(home.uploads.count == 2)
    try home.checkWhole()
  }

  @Test func whatNeedNotWaitEndsAtOnce() throws {
    let home = try home(more: "expand: { wait: false }")
    try home.add("a.txt", ">one\n>two\n")
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").children.isEmpty)
    #expect(try home.rows("--parent", try home.row("a.txt").id).allSatisfy { $0.status == "completed" })
    #expect(try home.rows().count == 3)
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
  }

  @Test func childrenHaveDerivedObjectsAndSoHaveTheirParents() throws {
    let home = try home("- use: expand\n- use: derive")
    try home.add("a.txt", ">one\n>two\n")
    #expect(try home.ingest().status == 0)
    #expect(try home.rows().allSatisfy { $0.status == "completed" && $0.derived?.count == 2 })
    let parent = try home.row("a.txt")
    #expect(try home.sluice("get", parent.id, "--derived", "head").out == ">one\n>two\n")
    #expect(try home.sluice("get", try home.row("line-2.txt").id, "--derived", "head").out == "two")
    try home.checkWhole()
  }

  /// By the stage that took them out, or by a later one.
  @Test(arguments: [
    ("- use: expand", "bad"), ("- use: expand\n- { use: size, options: { max: 4B } }", "good"),
  ])
  func aParentThatIsRejectedHasNone(stages: String, head: String) throws {
    let home = try home(stages)
    try home.add("a.txt", "\(head)\n>one\n>two\n")
    #expect(try home.ingest().status == 1)
    #expect(try home.rows().map(\.status) == ["rejected"])
    #expect(home.uploads.isEmpty)
    #expect(try home.count("expansions") == 0)
    try home.checkWhole()
  }

  // MARK: Limits

  @Test func noneIsTakenThatIsTooDeep() throws {
    let home = try home(more: "expand: { depth: 1 }")
    try home.add("a.txt", ">one|>inner\n>two\n")
    #expect(try home.ingest().status == 1)
    let rows = try home.rows()
    #expect(rows.count == 3, "\(rows.map(\.fileName))")
    #expect(try home.row("line-1.txt").status == "rejected")
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 1, "rejected": 1])
    try home.checkWhole()
  }

  @Test func aStageHasNoRoomForMoreThanAreAllowed() throws {
    let home = try home(more: "expand: { contents: 2 }")
    try home.add("a.txt", ">one\n>two\n>three\n")
    try home.add("b.txt", ">one\n>two\n")
    #expect(try home.ingest().status == 1)
    #expect(try home.row("a.txt").code == "too-many-contents")
    #expect(try home.row("b.txt").children == ["count": 2, "completed": 2])
    #expect(try home.rows().count == 4)
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
  }

  /// Each of them alone would have been allowed.
  @Test(arguments: [true, false]) func siblingsThatAreTooManyTogetherAreNotAllTaken(waits: Bool) throws {
    let home = try home(more: "expand: { contents: 4, wait: \(waits) }")
    try home.add("a.txt", ">one|>i1|>i2\n>two|>j1|>j2\n")
    #expect(try home.ingest().status == 1)
    let rows = try home.rows()
    #expect(rows.count == 5, "\(rows.map(\.fileName))")
    let rejected = rows.filter { $0.status == "rejected" }
    #expect(rejected.count == 1)
    let code = try #require(rejected.first?.code)
    #expect(["no-room", "too-many-contents"].contains(code))
    #expect(try home.rows("--parent", try #require(rejected.first).id).isEmpty)
    #expect(rows.allSatisfy { $0.status == "completed" || $0.status == "rejected" })
    try home.checkWhole()
  }

  /// The stages at the end have told of it as completed when that is found out, and are asked again.
  @Test(arguments: [true, false]) func contentsThatAreTooLargeEndTheirParent(waits: Bool) throws {
    let home = try home("- use: expand\n- use: derive", more: "expand: { bytes: 5B, wait: \(waits) }")
    try home.add("a.txt", ">one\n>twos\n")
    try home.add("b.txt", ">one\n>tw\n")
    let ingest = try home.ingest()
    #expect(ingest.status == 1 && !ingest.err.contains("paused"), "\(ingest.err)")
    let parent = try home.row("a.txt")
    #expect(parent.status == "rejected" && parent.code == "too-large" && parent.derived == nil)
    #expect(try home.rows("--parent", parent.id).isEmpty)
    #expect(try home.row("b.txt").status == "completed")
    let told = try home.events().map { try JSON($0) }.filter { $0["data"]["fileName"].text == "a.txt" }
    #expect(told.map { $0["type"].text } == ["attachment.rejected"])
    #expect(told.map { $0["data"]["status"].text } == ["rejected"])
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
  }

  /// What is left of a tree when its time is over is seen by no stage, and can be worked on when more is allowed.
  @Test func aTreeHasItsTime() throws {
    let home = try home("- use: expand\n- use: derive", more: "expand: { time: 1ms }")
    try home.add("a.txt", (1...600).map { ">content \($0)\n" }.joined())
    try home.add("b.txt", "alone\n")
    #expect(try home.ingest().status == 1)
    let rejected = try home.rows("--code", "tree-timeout")
    #expect(!rejected.isEmpty)
    #expect(rejected.allSatisfy { $0.status == "rejected" })
    let parent = try home.row("a.txt")
    #expect(parent.status == "completed")
    #expect(parent.children["count"] == 600 && parent.children["rejected"] == .integer(rejected.count))
    #expect(try home.rows("--parent", parent.id, "--status", "completed").count == 600 - rejected.count)
    #expect(try home.row("b.txt").status == "completed")
    try home.checkWhole()
    try home.pipeline("- use: expand\n- use: derive", more: "expand: { time: 1h }")
    #expect(try home.sluice("retry", "--code", "tree-timeout").status == 0)
    #expect(try home.ingest().status == 0)
    #expect(try home.rows().allSatisfy { $0.status == "completed" })
    try home.checkWhole()
  }

  /// Contents that wait for a worker when the time is over are rejected, too.
  @Test func whatATreeHasInHandKeepsToItsTime() throws {
    let home = try home("- use: expand\n- use: misbehave\n  timeout: 5m", more: "expand: { time: 2s }")
    try home.add("a.txt", (1...40).map { ">misbehave dawdle \($0)\n" }.joined())
    #expect(try home.ingest().status == 1)
    let parent = try home.row("a.txt")
    let done = try home.rows("--parent", parent.id, "--status", "completed").count
    // Each takes a second. Contents in a worker's hand go on.
    #expect(done <= 20, "\(done)")
    #expect(try home.rows("--code", "tree-timeout").count == 40 - done)
    try home.checkWhole()
  }

  /// A check judges as an ingest does, and keeps none of them.
  @Test func aCheckHasRoomForThem() throws {
    let home = try home("- use: expand\n- use: derive", more: "expand: { contents: 2 }")
    try home.add("a.txt", ">one\n>two\n")
    try home.add("b.txt", ">one\n>two\n>three\n")
    let check = try SluiceCommand.run(
      ["check", "--format", "json", "in/a.txt", "in/b.txt"], in: home.folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let verdicts = try check.out.split(separator: "\n").map { try JSON(String($0))["verdict"].text }
    #expect(verdicts == ["clean", "found"], "\(check.out) \(check.err)")
  }
}
