import Foundation
import Testing

/// A disk that is full while objects and contents are written that stages left: the lane pauses, and nothing is lost.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
struct DerivedFaultTests {
  private func expectPaused(_ ingest: SluiceCommand.Outcome, _ home: DerivedHome) throws {
    #expect(ingest.status == 75, "\(ingest.err)")
    #expect(ingest.err.contains("paused") && ingest.err.contains("store-failed"), "\(ingest.err)")
    let blamed = try home.count("jobs WHERE attempts > uncounted")
    #expect(blamed == 0, "no attachment is to blame")
    #expect(home.folder.files(below: "home/store/.incoming") == [], "nothing is left of what did not fit")
  }

  @Test func aFullStoreTakesNoneAndTheSameCommandGoesOnWithMoreRoom() throws {
    let home = try DerivedHome("- use: derive")
    try home.add("a.txt", "act much\n")
    let disk = try SmallDisk(home.folder.path + "/home/store", size: "1m")
    try expectPaused(try home.ingest(), home)
    #expect(try home.row("a.txt").status == "queued")
    try expectPaused(try home.ingest(), home)
    try disk.grow(to: "16m")
    #expect(try home.ingest().status == 0)
    #expect(try home.row("a.txt").derived?.map(\.name) == ["constant", "head", "much"])
    try home.checkWhole()
    try home.checkWitnessed(["a.txt"], tree: [])
  }

  @Test(arguments: [true, false]) func aFullFolderOfUploadsTakesNoChild(waits: Bool) throws {
    let home = try DerivedHome("- use: expand\n- use: derive", more: "expand: { wait: \(waits) }")
    let line = ">" + String(repeating: "content ", count: 400) + "\n"
    try home.add("a.txt", String(repeating: line, count: 30))
    let disk = try SmallDisk(home.folder.path + "/home/uploads", size: "64k")
    try expectPaused(try home.ingest(), home)
    #expect(try home.rows().map(\.status) == ["queued"])
    #expect(home.uploads.isEmpty, "nothing is left of those that did fit")
    try disk.grow(to: "4m")
    #expect(try home.ingest().status == 0)
    #expect(try home.rows().count == 31)
    #expect(try home.rows().allSatisfy { $0.status == "completed" && $0.derived?.count == 2 })
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
    try home.checkWitnessed(["a.txt"], tree: (1...30).map { "line-\($0).txt" })
  }
}
