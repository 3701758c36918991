import Foundation
import Testing

/// What persons do with attachments that wait for their children, and with these: nothing is doubled or lost, and the parent ends.
struct ExpansionStateTests {
  private let home: DerivedHome
  /// What waits, its child that has not ended, and the one that is completed.
  private let parent, open, ended: DerivedHome.Row

  private static let stages = "- use: expand\n- use: derive"
  private static let waiting = "SELECT count(*) FROM jobs WHERE state = 'expanded'"
  private static let completed = "SELECT count(*) FROM attachments WHERE status = 'completed'"

  /// A home whose coordinator was killed while an attachment waited for its children, of which one was at work.
  init() throws {
    home = try DerivedHome(Self.stages + "\n- { use: misbehave, timeout: 5m }")
    try home.add("a.txt", ">two\n>misbehave sleep\n")
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in"], in: home.folder,
      out: home.folder.path + "/.out", err: home.folder.path + "/.err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    let home = home
    try Resident.wait("one child is completed, and its parent waits for the other") {
      // There may be no ledger yet.
      guard let waiting = try? home.ledger(Self.waiting), let completed = try? home.ledger(Self.completed)
      else {
        return false
      }
      // The object of the one that is completed has its path, and its upload is gone.
      return waiting == "1" && completed == "1" && home.uploads.count == 1
        && home.folder.files(below: "home/store/.incoming").isEmpty
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    (parent, open, ended) = (
      try home.row("a.txt"), try home.row("line-2.txt"), try home.row("line-1.txt")
    )
    try home.pipeline(Self.stages)
  }

  /// Goes on, and checks that each is there once.
  private func goOn(_ status: Int32 = 0) throws {
    let ingest = try home.ingest()
    #expect(ingest.status == status, "\(ingest.out) \(ingest.err)")
    #expect(try home.ledger(Self.waiting) == "0")
    let rows = try home.rows()
    #expect(Set(rows.map(\.fileName)).count == rows.count, "none is doubled: \(rows.map(\.fileName))")
    #expect(rows.allSatisfy { $0.status != "queued" })
    try home.checkWhole()
  }

  /// An open transaction of a killed coordinator is no change: only what is on record counts.
  private func sound() throws {
    let verified = try home.sluice("verify")
    #expect(verified.status == 0, "\(verified.out)")
  }

  @Test func theNextRunGoesOnWithThem() throws {
    try sound()
    #expect(parent.status == "queued" && parent.derived == nil)
    let status = try home.sluice("status").out
    #expect(status.contains("queued       2"), "\(status)")
    #expect(try home.sluice("show", parent.id).status == 0)
    try goOn()
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
    #expect(try home.rows().allSatisfy { $0.derived?.count == 2 })
    #expect(try home.count("steps WHERE stage = 'expand' AND attachment_key = 1") == 1, "it is expanded once")
    let told = try home.events().map { try JSON($0)["data"]["fileName"].text }
    #expect(told == ["line-1.txt", "line-2.txt", "a.txt"])
  }

  @Test func aParentThatIsCancelledEndsAndItsChildrenGoOn() throws {
    #expect(try home.sluice("cancel", parent.id).status == 0)
    try sound()
    try goOn(1)
    #expect(try home.row("a.txt").status == "cancelled")
    #expect(try home.row("line-2.txt").status == "completed")
    #expect(try home.row("line-1.txt").status == "completed")
    // Once more: what came out of it is known.
    #expect(try home.sluice("retry", parent.id).status == 0)
    try sound()
    try goOn()
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
    #expect(try home.rows().count == 3)
  }

  @Test func aParentWhoseCancellationIsTakenBackConcludes() throws {
    #expect(try home.sluice("cancel", parent.id).status == 0)
    #expect(try home.sluice("retry", parent.id).status == 0)
    try sound()
    try goOn()
    #expect(try home.row("a.txt").status == "completed")
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2], "it has waited for both")
  }

  @Test func aChildThatIsCancelledIsNotWaitedFor() throws {
    #expect(try home.sluice("cancel", open.id).status == 0)
    try sound()
    try goOn(1)
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 1, "cancelled": 1])
    // Its parent has ended, and stays as it is.
    #expect(try home.sluice("retry", open.id).status == 0)
    try sound()
    try goOn()
    #expect(try home.row("line-2.txt").status == "completed")
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 1, "cancelled": 1])
  }

  @Test func aChildThatIsDeletedIsNotWaitedFor() throws {
    #expect(try home.sluice("delete", open.id).status == 0)
    try sound()
    try goOn()
    #expect(try home.row("a.txt").children == ["count": 1, "completed": 1])
    #expect(home.uploads.isEmpty)
  }

  @Test func aChildThatHasEndedAndIsDeletedCountsNoMore() throws {
    #expect(try home.sluice("delete", ended.id).status == 0)
    try sound()
    try goOn()
    #expect(try home.row("a.txt").children == ["count": 1, "completed": 1])
  }

  /// The same file is not taken in again, and what a person has deleted of it is not either.
  @Test func whatIsDeletedDoesNotComeBackWithItsParent() throws {
    #expect(try home.sluice("delete", ended.id).status == 0)
    #expect(try home.sluice("cancel", parent.id).status == 0)
    try goOn(1)
    #expect(try home.sluice("retry", parent.id).status == 0)
    try goOn()
    #expect(try home.rows().map(\.fileName).sorted() == ["a.txt", "line-2.txt"])
    #expect(try home.row("a.txt").children == ["count": 1, "completed": 1])
  }

  @Test func childrenOfADeletedParentGoOnAlone() throws {
    #expect(try home.sluice("delete", parent.id).status == 0)
    try sound()
    try goOn()
    #expect(
      try home.rows().map { "\($0.fileName) \($0.status) \($0.parentId ?? "-")" }.sorted() == [
        "line-1.txt completed -", "line-2.txt completed -",
      ])
  }

  /// What has come out of it is not counted a second time.
  @Test func aParentThatIsWorkedOnAgainHasTheSameChildren() throws {
    try goOn()
    let before = try home.rows().map(\.id).sorted()
    for (number, stages) in ["- use: oracle\n", "- use: oracle\n- { use: oracle, id: second }\n"].enumerated()
    {
      try home.pipeline(stages + Self.stages, more: "expand: { contents: 2 }")
      if number == 1 { try home.pipeline(Self.stages, more: "expand: { contents: 2, bytes: 20B }") }
      #expect(try home.sluice("replay", "--apply", parent.id).status == 0)
      try sound()
      try goOn()
      #expect(try home.rows().map(\.id).sorted() == before)
      #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
      #expect(try home.row("a.txt").derived?.count == 2)
    }
  }

  /// While it waits for its children, an object beside it is lost.
  @Test func anObjectOfAParentThatWaitsIsMadeAnew() throws {
    let url = try #require(
      try home.ledger(
        """
        SELECT d.url FROM derived d JOIN attachments a ON a.key = d.attachment_key
        WHERE d.name = 'constant' AND a.id = '\(parent.id)'
        """))
    try FileManager.default.removeItem(atPath: home.folder.path + "/home/store/" + url)
    #expect(try home.sluice("verify").status == 1)
    #expect(try home.sluice("verify", "--repair").status == 0)
    try goOn()
    #expect(try home.rows().allSatisfy { $0.status == "completed" && $0.derived?.count == 2 })
  }

  /// So is that of its content, which would be lost when it ends.
  @Test func theObjectOfAParentThatWaitsIsStoredAnew() throws {
    let url = try #require(try home.ledger("SELECT kept FROM attachments WHERE id = '\(parent.id)'"))
    try FileManager.default.removeItem(atPath: home.folder.path + "/home/store/" + url)
    #expect(try home.sluice("verify").status == 1)
    #expect(try home.sluice("verify", "--repair").status == 0)
    try sound()
    try goOn()
    #expect(try home.row("a.txt").url != nil)
    #expect(try home.rows().allSatisfy { $0.status == "completed" })
  }

  /// The bytes of a child that is lost are still in its parent.
  @Test func theLostObjectOfAChildIsTakenOutOfItsParentAgain() throws {
    try goOn()
    let before = try home.rows()
    let child = try #require(before.first { $0.id == ended.id })
    let store = home.folder.path + "/home/store/"
    let bytes = try Data(contentsOf: URL(fileURLWithPath: store + (child.url ?? "")))
    let copies = try home.folder.files(below: "home/store").filter {
      try Data(contentsOf: URL(fileURLWithPath: store + $0)) == bytes
    }
    #expect(copies.count == 2, "its object, and an object beside it")
    for copy in copies { try FileManager.default.removeItem(atPath: store + copy) }
    #expect(try home.sluice("verify").status == 1)
    let repaired = try home.sluice("verify", "--repair")
    #expect(
      repaired.status == 0 && repaired.out.contains("what it was taken out of is queued again"),
      "\(repaired.out)")
    try sound()
    // Queued, it would be tried before its parent has given it its content, and all would be told that it had failed.
    #expect(try home.rows().first { $0.id == ended.id }?.status == "failed")
    try goOn()
    #expect(try home.count("events WHERE type <> 'attachment.completed'") == 0)
    let after = try home.rows()
    #expect(
      after.map(\.id).sorted() == before.map(\.id).sorted() && after.allSatisfy { $0.status == "completed" })
    let again = try #require(after.first { $0.id == ended.id })
    #expect(try Data(contentsOf: URL(fileURLWithPath: store + (again.url ?? ""))) == bytes)
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
    #expect(home.uploads.isEmpty)
    #expect(try home.sluice("verify").status == 0)
  }

  @Test func theLostFileOfAChildThatIsQueuedIsTakenOutOfItsParentAgain() throws {
    let uploads = home.uploads
    try #require(!uploads.isEmpty)
    for name in uploads {
      try FileManager.default.removeItem(atPath: "\(home.folder.path)/home/uploads/\(name)")
    }
    let found = try home.sluice("verify")
    #expect(found.status == 1 && found.out.contains("upload-missing"), "\(found.out)")
    #expect(try home.sluice("verify", "--repair").status == 0)
    try goOn()
    #expect(try home.rows().allSatisfy { $0.status == "completed" })
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
    #expect(home.uploads.isEmpty)
  }

  /// It had failed for good, since it could not be read; its parent is tried again.
  @Test func aChildThatCouldNotBeReadGetsItsContentFromItsParent() throws {
    for name in home.uploads {
      try FileManager.default.removeItem(atPath: "\(home.folder.path)/home/uploads/\(name)")
    }
    #expect(try home.ingest().status == 1)
    let failed = try #require(try home.rows().first { $0.id == open.id })
    #expect(failed.status == "failed")
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 1, "failed": 1])
    #expect(try home.sluice("verify", "--repair").out.contains("what it was taken out of is queued again"))
    try goOn()
    #expect(try home.rows().allSatisfy { $0.status == "completed" })
    #expect(try home.row("a.txt").children == ["count": 2, "completed": 2])
    #expect(home.uploads.isEmpty)
  }
}
