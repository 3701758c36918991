import Foundation
import Testing

/// `sluice replay --apply` while a coordinator works on the home: what is queued again is worked on by that one's pipeline.
@Suite(.serialized)
struct ReplayBesideRunTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.pipeline(max: "1KB"))
    try folder.write("strict.yaml", Self.pipeline(max: "5B"))
    try folder.write("in/a.txt", "a text\n")
  }

  private static func pipeline(max: String) -> String {
    Pipelines.storing("- { use: size, options: { max: \(max) } }")
  }

  private func replay(_ pipeline: String, _ more: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["replay", "--home", "home", "-c", pipeline, "--diff", "--apply"] + more, in: folder)
  }

  private var status: String {
    get throws {
      try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder).only(
        Printed.Attachment.self
      ).status
    }
  }

  private func reload(_ resident: Resident) throws {
    let said = "the pipeline was read again"
    let before = resident.errors.components(separatedBy: said).count
    kill(resident.process.processIdentifier, SIGHUP)
    try Resident.wait(said) { resident.errors.components(separatedBy: said).count > before }
  }

  @Test func anotherPipelineIsRefusedAndTheSameIsNot() throws {
    let resident = try Resident(folder)
    let enqueue = ["enqueue", "--home", "home", "--wait", "in"]
    #expect(try SluiceCommand.run(enqueue, in: folder).status == 0)
    let pid = resident.process.processIdentifier

    let other = try replay("strict.yaml")
    #expect(other.status == 75 && other.out.isEmpty, "\(other.out)")
    #expect(
      other.err.contains("works with \(try real("pipeline.yaml")), and would begin at once by that"),
      "\(other.err)")
    #expect(other.err.contains("kill -HUP \(pid)"), "\(other.err)")
    // It has changed since the coordinator read it.
    try folder.write("pipeline.yaml", Self.pipeline(max: "5B"))
    let changed = try replay("pipeline.yaml")
    #expect(changed.status == 75 && changed.err.contains("as it was when it read it"), "\(changed.err)")
    // Without --apply nothing is queued again, and a coordinator is in nobody's way.
    let shown = try SluiceCommand.run(
      ["replay", "--home", "home", "-c", "strict.yaml", "--diff"], in: folder)
    #expect(shown.status == 1 && shown.out.contains("completed -> rejected"), "\(shown.err)")
    usleep(200_000)
    #expect(try status == "completed")

    try reload(resident)
    // The name of the file does not matter.
    let same = try replay("strict.yaml")
    #expect(same.status == 0 && same.out.contains("1 attachment queued again"), "\(same.err)")
    #expect(!same.out.contains("give it the same --config"), "a coordinator is at work")
    try resident.wait(for: 2)
    #expect(try status == "rejected")
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  /// Workers that have loaded it before go on with it as it was.
  @Test func aPluginThatIsBuiltAnewIsAnother() throws {
    let process = FixtureStages.greetingProcess
    try FixtureStages.brokenGreeting(in: folder, old: process, new: process)
    try folder.write("pipeline.yaml", Pipelines.storing("- { use: greeting, options: { word: a } }"))
    let environment = ["SLUICE_PLUGIN_PATH": folder.path]
    let resident = try Resident(folder, environment: environment)
    let enqueue = ["enqueue", "--home", "home", "--wait", "in"]
    #expect(try SluiceCommand.run(enqueue, in: folder, environment: environment).status == 0)

    // As a backup gives it one: it is the same.
    try FileManager.default.linkItem(
      atPath: folder.path + "/libsluice-greeting.so", toPath: folder.path + "/a second name")
    let linked = try SluiceCommand.run(
      ["replay", "--home", "home", "--diff", "--apply"], in: folder, environment: environment)
    #expect(linked.status == 0, "\(linked.err)")
    try FileManager.default.removeItem(atPath: folder.path + "/libsluice-greeting.so")
    try FixtureStages.brokenGreeting(
      in: folder, old: process,
      new: process + "self->host->explain(call, \"wrong-word\", \"\"); return SLUICE_REJECT;")
    usleep(600_000)  // longer than the coordinator keeps what it has said of its pipeline
    let replay = ["replay", "--home", "home", "--diff", "--apply"]
    let other = try SluiceCommand.run(replay, in: folder, environment: environment)
    #expect(other.status == 75 && other.out.isEmpty, "\(other.out)")
    #expect(other.err.contains("or a plugin is another now"), "\(other.err)")
    try reload(resident)
    let same = try SluiceCommand.run(replay, in: folder, environment: environment)
    #expect(same.status == 0 && same.out.contains("1 attachment queued again"), "\(same.out)\(same.err)")
    try resident.wait(for: 2)
    #expect(try status == "rejected")
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  @Test func quietItSaysNothing() throws {
    #expect(try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder).status == 0)
    let quiet = try replay("strict.yaml", "-q")
    #expect(quiet.status == 0 && quiet.out.isEmpty && quiet.err.isEmpty, "\(quiet.out)\(quiet.err)")
    #expect(try status == "queued")
  }

  private func real(_ name: String) throws -> String {
    let path = try #require(realpath(folder.path + "/" + name, nil))
    defer { free(path) }
    return String(cString: path)
  }
}
