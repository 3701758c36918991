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

  /// All that it writes arrives, so that equal contents end in the same way.
  @Test func aFloodIsNoticedAlsoWhereTheStagePasses() throws {
    let outcome = try Self.ingest(lines: 8000, files: 8)
    #expect(
      outcome.status == 1 && outcome.out.components(separatedBy: "flooded: ").count == 9, "\(outcome.out)")
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
