import Foundation
import Testing

/// `run --watch DIR --consume …`: a source goes once its attachment is completed and stored, and never else.
@Suite(.serialized)
struct ConsumptionTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing("- { use: size, options: { max: 1KB } }"))
    try folder.write("in/fine.txt", "a fine text\n")
    try folder.write("in/sub/other.txt", "another text\n")
    try folder.write("in/long.txt", String(repeating: "long\n", count: 500))
    try folder.write("done/.keep", "")
  }

  private func watch(_ options: String...) throws -> Resident {
    try Resident(folder, options: ["--watch", "in", "--quiet-for", "100ms"] + options)
  }

  private func wait(for files: [String]) throws {
    try Resident.wait("the sources are \(files)") { folder.files(below: "in") == files }
  }

  private func ids() throws -> [String: String] {
    let listed = try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
    return Dictionary(listed.attachments.map { ($0.fileName, $0.id) }) { $1 }
  }

  @Test func whatIsCompletedIsRemovedAndWhatIsRejectedStays() throws {
    let resident = try watch("--consume", "delete")
    try resident.wait(for: 3)
    try wait(for: ["long.txt"])
    try folder.write("in/late.txt", "a late text\n")
    try resident.wait(for: 4)
    try wait(for: ["long.txt"])
    #expect(resident.stop() == 0)
    #expect(folder.files(below: "home/store").count == 3)
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }

  @Test func whatIsCompletedIsMovedWithItsFolderAndReplacesNothing() throws {
    try folder.write("done/fine.txt", "there before\n")
    let resident = try watch("--consume", "move:done")
    try resident.wait(for: 3)
    try wait(for: ["long.txt"])
    #expect(resident.stop() == 0)
    let id = try #require(try ids()["fine.txt"])
    #expect(folder.files(below: "done") == [".keep", "fine.txt", "fine.txt.\(id)", "sub/other.txt"])
    #expect(try folder.read("done/fine.txt") == "there before\n")
    #expect(try folder.read("done/fine.txt.\(id)") == "a fine text\n")
  }

  @Test func whatWasCompletedBeforeIsConsumedByTheNextRun() throws {
    let first = try watch()
    try first.wait(for: 3)
    #expect(first.stop() == 0)
    #expect(folder.files(below: "in").count == 3, "it was not asked for")
    // One has changed since: it is another attachment, and only that one's end lets it go.
    try folder.write("in/sub/other.txt", String(repeating: "longer\n", count: 500))
    let second = try watch("--consume", "delete")
    try second.wait(for: 1)
    try wait(for: ["long.txt", "sub/other.txt"])
    #expect(second.stop() == 0)
  }

  @Test func aSourceWhoseObjectIsNotInTheStoreStays() throws {
    let first = try watch()
    try first.wait(for: 3)
    #expect(first.stop() == 0)
    let id = try #require(try ids()["fine.txt"])
    let object = folder.path + "/home/store/\(id).txt"
    try FileManager.default.moveItem(atPath: object, toPath: folder.path + "/object")
    let second = try watch("--consume", "delete")
    try wait(for: ["fine.txt", "long.txt"])
    usleep(500_000)
    #expect(folder.files(below: "in") == ["fine.txt", "long.txt"])
    try FileManager.default.moveItem(atPath: folder.path + "/object", toPath: object)
    try wait(for: ["long.txt"])
    #expect(second.stop() == 0)
  }

  /// As a crash leaves them: renamed, and not yet removed.
  @Test func whatACrashLeftUnderItsLastNameIsSettled() throws {
    let first = try watch()
    try first.wait(for: 3)
    #expect(first.stop() == 0)
    let ids = try ids()
    func claim(_ name: String, below place: String = "") throws -> String {
      var facts = stat()
      try #require(stat("\(folder.path)/in/\(place)\(name)", &facts) == 0)
      let modified = Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
      let claimed = ".sluice-taken.\(try #require(ids[name])).\(facts.st_size).\(modified)"
      try FileManager.default.moveItem(
        atPath: "\(folder.path)/in/\(place)\(name)", toPath: "\(folder.path)/in/\(place)\(claimed)")
      return place + claimed
    }
    _ = try claim("fine.txt")
    // Its attachment was rejected: that it is there under this name says nothing.
    _ = try claim("long.txt")
    // Another file got the name at the last moment.
    try folder.write("in/" + (try claim("other.txt", below: "sub/")), "a later text\n")
    let second = try watch("--consume", "delete")
    try second.wait(for: 1)
    try wait(for: ["long.txt"])
    #expect(second.stop() == 0)
    #expect(second.ended.map(\.fileName) == ["other.txt"] && second.ended[0].sizeBytes == 13)
    #expect(folder.files(below: "home/store").count == 3)
  }

  /// Whoever may write to a watched folder may make up such a name.
  @Test func aNameThatIsMadeUpLeadsToNoOtherFolder() throws {
    let first = try watch()
    try first.wait(for: 3)
    #expect(first.stop() == 0)
    let id = try #require(try ids()["other.txt"])
    try FileManager.default.removeItem(atPath: folder.path + "/in/sub/other.txt")
    try folder.write("in/.sluice-taken.\(id).1.1", "made up\n")
    let second = try watch("--consume", "delete")
    try wait(for: [".sluice-taken.\(id).1.1", "long.txt"])
    usleep(300_000)
    #expect(second.stop() == 0)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/in/sub/other.txt"))
  }

  /// Whenever it is killed: what has gone is stored, and what is not stored is there.
  @Test func noSourceIsLostHoweverOftenTheCoordinatorIsKilled() throws {
    var contents: [String: String] = [:]
    for round in 0..<12 {
      for number in 0..<15 {
        let (name, text) = ("\(round)/file-\(number).txt", "text \(number) of round \(round)\n")
        try folder.write("in/" + name, text)
        contents["file \(round) \(number)"] = text
      }
      let resident = try watch("--consume", round % 2 == 0 ? "delete" : "move:done")
      usleep(UInt32.random(in: 150_000...450_000))
      kill(resident.process.processIdentifier, SIGKILL)
      resident.process.waitUntilExit()
    }
    let last = try watch("--consume", "delete")
    try Resident.wait("all is consumed", seconds: 60) { folder.files(below: "in") == ["long.txt"] }
    #expect(last.stop() == 0)
    let stored = try folder.files(below: "home/store").map { try folder.read("home/store/" + $0) }
    #expect(Set(contents.values).isSubset(of: stored))
    #expect(stored.count == contents.count + 2, "and each once")
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }
}
