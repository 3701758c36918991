import Foundation
import Testing

/// One user's slow files stop nobody else's.
@Suite(.serialized)
struct FairnessTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      Pipelines.telling("- use: misbehave\n  timeout: 300s", more: "workers: 1"))
  }

  private func enqueue(_ sender: String, _ files: [String: String]) throws {
    for (name, text) in files { try folder.write("\(sender)/\(name)", text) }
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--sender", sender, "--participants", sender, sender], in: folder)
    try #require(outcome.status == 0, "\(outcome.err)")
  }

  private func statuses() throws -> [String: String] {
    let list = try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
    return Dictionary(
      list.attachments.map { ($0.fileName, $0.status) }, uniquingKeysWith: { first, _ in first })
  }

  @Test func othersFilesGoOnAndOnesOwnThatNeedNoSlowStage() throws {
    let resident = try Resident(folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    defer { kill(resident.process.processIdentifier, SIGKILL) }
    // The stage sleeps on these for longer than the test runs.
    let slow = Dictionary(
      uniqueKeysWithValues: (0..<6).map { ("slow\($0).txt", "misbehave sleep \($0)\n") })
    try enqueue("ann", slow)
    try Resident.wait("the stage sleeps") {
      try SluiceCommand.run(["status", "--home", "home"], in: folder).out.contains("the longest is misbehave")
    }
    try enqueue("ben", ["fine.txt": "a few words of ben's\n"])
    try Resident.wait("ben's file has ended") { try statuses()["fine.txt"] == "completed" }
    try enqueue("ann", ["fine.json": "{\"of\": \"ann\"}\n"])
    try Resident.wait("ann's file that is quick has ended") { try statuses()["fine.json"] == "completed" }
    let all = try statuses()
    #expect(slow.keys.allSatisfy { all[$0] == "queued" }, "\(all)")
  }
}
