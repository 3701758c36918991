import Foundation
import Testing

/// What channels deliver is what its schema says.
struct EventSchemaTests {
  private let folder: TemporaryFolder
  private let validator: SchemaValidator
  private let schema: String

  init() throws {
    folder = try TemporaryFolder()
    schema = try SluiceCommand.run(["schema", "--event"], in: folder).out
    validator = try SchemaValidator(schema)
  }

  /// The events of an ingest with an attachment of each outcome, and a stage at the end that has a type of its own.
  private func events() throws -> [String] {
    try FixtureStages.compile("audit", into: folder.path, ["-DAUDIT_TELLS"])
    try folder.write("in/good", "a text\n")
    try folder.write("in/long", String(repeating: "a long text\n", count: 20))
    try folder.write("in/broken", "misbehave unknown-verdict\n")
    try folder.write("in/crash", "misbehave segfault\n")
    try folder.write("in/wordy", "misbehave huge-metadata\n")
    try folder.write("in/named\u{202E}.txt", "another text\n")
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - { use: size, options: { max: 100B } }
        - { use: mime, options: { allow: ["*/*"] } }
        - { use: misbehave, on-crash: hold }
        - { use: store, options: { path: "{attachmentId}" } }
        - { use: notify, options: { to: everyone, channels: [events] } }
        - { use: audit, options: { channel: events } }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      retry: { attempts: 1 }
      """)
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": "\(folder.path):\(try FixtureStages.folder())"])
    #expect(outcome.status == 1, "\(outcome.err)")
    return try folder.read("home/events.jsonl").split(separator: "\n").map(String.init)
  }

  @Test func eachEventIsWhatTheSchemaSays() throws {
    let events = try events()
    for event in events { #expect(try validator.problems(event) == [], "\(event)") }
    let parsed = try events.map { try JSON($0) }
    let types = Set(parsed.compactMap { $0["type"].text })
    #expect(types == ["attachment.completed", "attachment.rejected", "attachment.failed", "audit.done"])
    let statuses = Set(parsed.compactMap { $0["data"]["status"].text })
    #expect(statuses == ["completed", "rejected", "failed", "quarantined"])
    #expect(parsed.contains { $0["data"].members["metadata"] == nil }, "one has too much metadata to tell")
    #expect(events.allSatisfy { $0.hasPrefix(#"{"id":""#) })
    // Nothing is in an event that the schema does not describe.
    let known = try JSON(schema)["properties"]["data"]["properties"].members.keys
    for event in parsed { #expect(Set(event["data"].members.keys).subtracting(known).isEmpty) }
  }

  /// An event that lacks something, or has it as something else, is none.
  @Test func whatIsNoEventIsFoundOut() throws {
    let event = try #require(try events().first)
    let lost = [
      "\"id\":", "\"type\":", "\"timestamp\":", "\"data\":", "\"sizeBytes\":", "\"reason\":", "\"sha256\":",
    ]
    for name in lost {
      let without = event.replacingOccurrences(of: name, with: "\"other-\(name.dropFirst())")
      #expect(try !validator.problems(without).isEmpty, "\(name)")
    }
    for (old, new) in [
      ("\"sizeBytes\":", "\"sizeBytes\":-"), ("\"status\":\"", "\"status\":\"un"),
      ("\"timestamp\":\"2", "\"timestamp\":\"x"),
      ("\"fileName\":\"", "\"fileName\":null,\"x\":\""), ("\"metadata\":{", "\"metadata\":{\"a\":[],"),
      ("\"id\":\"", "\"id\":\"z"),
    ] {
      let changed = event.replacingOccurrences(of: old, with: new)
      let problems = try validator.problems(changed)
      #expect(changed != event && !problems.isEmpty, "\(new)")
    }
  }

  @Test func theFileInTheDocumentationIsTheSchema() throws {
    let file = SluiceCommand.projectFolder + "/docs/event.schema.json"
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
      try schema.write(toFile: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == schema, "UPDATE_GOLDEN=1 writes it anew")
    #expect(try JSON(schema)["$id"].text == "urn:sluice:schema:event:1")
  }

  @Test func aChannelPointsToIt() throws {
    let channel = try SluiceCommand.run(["stages", "inspect", "jsonl"], in: folder).out
    #expect(channel.contains("`sluice schema --event` prints its schema"), "\(channel)")
    let json = try SluiceCommand.run(["stages", "inspect", "jsonl", "--format", "json"], in: folder).out
    #expect(try JSON(json)["eventSchema"].text == "urn:sluice:schema:event:1")
    #expect(try !SluiceCommand.run(["stages", "inspect", "size"], in: folder).out.contains("--event"))
  }
}
