import Foundation
import Testing

/// What stages log reaches the operator by its level, and no flood of it does.
struct LogTests {
  private static func ingest(lines: Int, files: Int, _ words: [String] = []) throws -> SluiceCommand.Outcome {
    let folder = try TemporaryFolder()
    try folder.write("plugins/.keep", "")
    try FixtureStages.compile("talk", into: folder.path + "/plugins", ["-DLINES=\(lines)"])
    try folder.write("pipeline.yaml", Pipelines.only("talk", plugins: "plugins"))
    for number in 0..<files { try folder.write("in/file-\(number).txt", "content \(number)") }
    return try SluiceCommand.run(["ingest", "--home", "home", "--quiet"] + words + ["in"], in: folder)
  }

  @Test func warningsAndErrorsAreShownWithTheAttachment() throws {
    let outcome = try Self.ingest(lines: 1, files: 1)
    let lines = outcome.err.split(separator: "\n")
    #expect(outcome.status == 0 && lines.count == 2, "\(outcome.err)")
    #expect(lines.first?.hasSuffix(": talk: warning: line 1 of level 2 on file-0.txt\\u{7}") == true)
    #expect(lines.last?.contains(": talk: error: line 1 of level 3 on file-0.txt") == true)
  }

  @Test func aProgramGetsThemAsRecords() throws {
    let outcome = try Self.ingest(lines: 1, files: 1, ["--format", "json"])
    #expect(outcome.status == 0 && outcome.err.isEmpty, "\(outcome.err)")
    let records = try outcome.out.split(separator: "\n").map { try JSON(String($0)) }
    let id = try #require(outcome.attachments.first?.id)
    let logged = records.filter { $0["record"].text == "log" }
    #expect(logged.map { $0["level"].text } == ["warning", "error"], "\(outcome.out)")
    #expect(logged.allSatisfy { $0["id"].text == id && $0["stage"].text == "talk" })
    #expect(logged.allSatisfy { $0["attachmentId"].text == id })
    #expect(logged.first?["text"].text == "line 1 of level 2 on file-0.txt\\u{7}")
    let flood = try Self.ingest(lines: 1, files: 50, ["--format", "json"])
    #expect(flood.out.components(separatedBy: #""record":"log""#).count - 1 == 40, "twenty of each level")
  }

  @Test func whatAChannelLogsNamesTheDeliveryAndItsAttachment() throws {
    let folder = try TemporaryFolder()
    try folder.write("plugins/.keep", "")
    try FixtureStages.compile("talk", into: folder.path + "/plugins", ["-DCHANNEL"])
    try folder.write(
      "pipeline.yaml", Pipelines.telling(channels: ["loud": "{ use: talk }"], more: "plugins: [plugins]"))
    try folder.write("in/a.txt", "content")
    func ingest(_ home: String, _ words: String...) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(
        ["ingest", "--home", home, "--sender", "ann", "--participants", "ann,ben", "--quiet"] + words + [
          "in"
        ],
        in: folder)
    }
    let json = try ingest("home", "--format", "json")
    let logged = try json.out.split(separator: "\n").map { try JSON(String($0)) }.filter {
      $0["record"].text == "log"
    }
    let deliveries = try JSON(
      try SluiceCommand.run(
        ["deliveries", "--status", "delivered", "--home", "home", "--format", "json"], in: folder
      ).out)
    let attachment = try #require(json.attachments.first?.id)
    #expect(logged.count == 2 && logged.allSatisfy { $0["attachmentId"].text == attachment }, "\(json.out)")
    #expect(logged.allSatisfy { $0["id"].text == deliveries["id"].text && $0["id"].text != attachment })
    let text = try ingest("other").err
    #expect(text.contains(#/[0-9a-f-]{36} of [0-9a-f-]{36}: [a-z]+: warning: line 1 of level 2/#), "\(text)")
  }

  @Test func whatIsOfLevelInfoIsShownToWhoAsks() throws {
    let lines = try Self.ingest(lines: 1, files: 1, ["-v"]).err.split(separator: "\n")
    #expect(lines.count == 3, "\(lines)")
    for (line, text) in zip(lines, ["info: line 1 of level 1", "warning: line", "error: line"]) {
      #expect(line.contains(": talk: \(text)"))
    }
    // Of many lines those that matter more are kept.
    let many = try Self.ingest(lines: 40, files: 1, ["-v"]).err.split(separator: "\n")
    #expect(many.count == 16 && !many.contains { $0.contains(": info: ") }, "\(many)")
  }

  /// A coordinator that runs for months shows a hundred lines a minute of each stage and level.
  @Test func aCoordinatorIsNotFlooded() throws {
    let folder = try TemporaryFolder()
    try folder.write("plugins/.keep", "")
    try FixtureStages.compile("talk", into: folder.path + "/plugins")
    try folder.write("pipeline.yaml", Pipelines.only("talk", plugins: "plugins"))
    for number in 0..<150 { try folder.write("in/file-\(number).txt", "content \(number)") }
    let resident = try Resident(folder)
    let queued = try SluiceCommand.run(["enqueue", "--home", "home", "in"], in: folder)
    #expect(queued.status == 0, "\(queued.err)")
    try resident.wait(for: 150)
    #expect(resident.stop() == 0)
    let out = try FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.hasSuffix(".out") }
    let text = try folder.read(try #require(out))
    #expect(text.components(separatedBy: #""record":"log""#).count - 1 == 200)
  }

  /// All that it writes arrives, so that equal contents end in the same way.
  @Test func aFloodIsNoticedAlsoWhereTheStagePasses() throws {
    let outcome = try Self.ingest(lines: 8000, files: 8)
    #expect(outcome.status == 1 && outcome.out.contains("flooded: 8 attachments"), "\(outcome.out)")
  }

  @Test func anAttachmentCausesSixteenLinesAtMostAndAnIngestShowsTwentyOfAKind() throws {
    let one = try Self.ingest(lines: 40, files: 1)
    #expect(one.status == 0 && one.err.split(separator: "\n").count == 16, "\(one.err)")
    let many = try Self.ingest(lines: 1, files: 50)
    let lines = many.err.split(separator: "\n")
    #expect(lines.count { $0.contains(": talk: ") } == 42, "twenty of each level, and two sums")
    #expect(lines.count { $0.contains("and 30 more like it: ") } == 2, "\(many.err)")
  }
}
