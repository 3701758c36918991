import Foundation
import Testing

/// One attachment has one outcome for everyone: whatever stages at the end say, each recipient is told once
/// on a channel.
@Suite(.serialized)
struct TerminalEventTests {
  private static func pipeline(_ stages: String) -> String {
    """
    version: 1
    stages:
    \(stages)
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
      others: { use: jsonl, options: { path: others.jsonl } }
    retry: { attempts: 1 }
    """
  }

  private static let mime = "  - { use: mime, options: { allow: [\"*/*\"] } }\n"
  private static let store = "  - { use: store, options: { path: \"{attachmentId}\" } }\n"
  private static let notify = "  - { use: notify, options: { to: everyone, channels: [events, others] } }\n"
  private static let audit = "  - { use: audit }\n"
  private static let tellingAudit = "  - { use: audit, options: { channel: events } }\n"

  /// The events of a file: type, recipient and status, in order.
  private func told(_ folder: TemporaryFolder, _ file: String) throws -> [String] {
    try Event.read((try? folder.read("home/\(file)")) ?? "")
      .map { "\($0.type) \($0.data.recipientId) \($0.data.status)" }.sorted()
  }

  private func ingest(_ stages: String) throws -> (TemporaryFolder, SluiceCommand.Outcome) {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write("pipeline.yaml", Self.pipeline(stages))
    let outcome = try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--format", "json", "--sender", "ann", "--participants", "ann,ben", "in",
      ], in: folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    return (folder, outcome)
  }

  static let orders = [
    mime + notify + audit, mime + audit + notify, mime + store + notify + audit,
    mime + store + audit + notify,
    mime + audit + notify + "  - { use: audit, id: audit-2 }\n",
  ]

  @Test(arguments: orders) func aStageAtTheEndThatRejectsIsToldOfOnce(stages: String) throws {
    let (folder, outcome) = try ingest(stages)
    #expect(outcome.status == 1, "\(outcome.err)")
    let record = try #require(outcome.attachments.first)
    #expect(record.status == "rejected")
    let wanted = ["attachment.rejected ann rejected", "attachment.rejected ben rejected"]
    #expect(try told(folder, "events.jsonl") == wanted)
    #expect(try told(folder, "others.jsonl") == wanted)
    #expect(folder.files(below: "home/store").isEmpty, "what is rejected is not kept")
    // Each stage ran once.
    let show = try SluiceCommand.run(["show", "--home", "home", "--format", "json", record.id], in: folder)
    let ran = try show.only(Printed.Story.self).attempts.map(\.stage)
    #expect(Set(ran).count == ran.count && ran.contains("notify") && ran.contains("audit"), "\(show.out)")
  }

  /// If two stages emit events, the second cannot change what the first has told.
  @Test func anOutcomeThatWasToldStands() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write(
      "pipeline.yaml", Self.pipeline(Self.mime + Self.notify + Self.tellingAudit))
    try FixtureStages.compile("audit", into: folder.path, ["-DAUDIT_TELLS"])
    let outcome = try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--format", "json", "--sender", "ann", "--participants", "ann,ben", "in",
      ], in: folder, environment: ["SLUICE_PLUGIN_PATH": folder.path])
    #expect(outcome.attachments.first?.isCompleted == true, "\(outcome.out) \(outcome.err)")
    #expect(
      try told(folder, "events.jsonl") == [
        "attachment.completed ann completed", "attachment.completed ben completed",
        "audit.done ben completed",
      ])
  }

  @Test(arguments: orders) func aPipelinesCasesSayTheSame(stages: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.pipeline(stages))
    try folder.write(
      "cases.yaml",
      """
      pipeline: pipeline.yaml
      cases:
        - name: the audit says no
          input: { text: hello }
          expect:
            outcome: rejected
            code: audited
            events:
              - { type: attachment.rejected, channel: events, to: everyone }
              - { type: attachment.rejected, channel: others, to: everyone }
      """)
    let outcome = try SluiceCommand.run(
      ["test", "cases.yaml"], in: folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(outcome.status == 0, "\(outcome.out) \(outcome.err)")
  }
}
