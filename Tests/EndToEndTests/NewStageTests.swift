import Foundation
import Testing

/// What a newcomer does: install, create a stage, build, check, test, run it in a pipeline, all outside this
/// project.
@Suite(.serialized)
struct NewStageTests {
  /// Each an example: a capability of a stage of the line, or another role.
  static let kinds = ["content", "store", "network", "end", "channel", "source"]
  /// Of a stage, a channel and a source; `make soak` builds all, as `make test` does in C.
  static let kindsInSwift = Soak.isOn ? kinds : ["content", "channel", "source"]

  /// The words of `stages new` for it.
  private func words(_ kind: String) -> [String] {
    [
      "stages", "new", "my-\(kind)", ["end", "channel", "source"].contains(kind) ? "--role" : "--capability",
      kind,
    ]
  }

  @Test(arguments: kinds)
  func aNewStageInCIsBuiltCheckedTestedAndRun(capability: String) throws {
    let installed = try Installation.shared()
    let folder = try TemporaryFolder()
    let made = try installed.run(words(capability) + ["--language", "c"], in: folder)
    #expect(made.status == 0, "\(made.err)")
    let built = try installed.tool(
      "make", ["CC=\(FixtureStages.compiler)"], in: folder, below: "my-\(capability)")
    #expect(built.status == 0, "\(built.err)")
    #expect(!built.err.contains("warning"), "\(built.err)")
    // The Makefile's own commands: `sluice stages check`, `sluice test`.
    let checked = try installed.tool("make", ["check"], in: folder, below: "my-\(capability)")
    #expect(checked.status == 0, "\(checked.out)\(checked.err)")
    try expectItRuns(installed, folder, capability)
  }

  @Test(arguments: kindsInSwift)
  func aNewStageInSwiftIsBuiltCheckedTestedAndRun(capability: String) throws {
    let installed = try Installation.shared()
    let folder = try TemporaryFolder()
    let made = try installed.run(words(capability), in: folder)
    #expect(made.status == 0, "\(made.err)")
    try build(installed, folder, capability)
    let plugin = ".build/release/libsluice-my-\(capability).so"
    let link = capability == "source" ? ["--link", "https://lines.example/1000000"] : []
    let checked = try installed.run(
      ["stages", "check", plugin, "--docs", "README.md"] + link, in: folder, below: "my-\(capability)")
    #expect(checked.status == 0, "\(checked.out)\(checked.err)")
    let tested = try installed.run(["test", "."], in: folder, below: "my-\(capability)")
    #expect(tested.status == 0, "\(tested.out)\(tested.err)")
    try expectItRuns(installed, folder, capability)
  }

  /// Linked statically with the runtime, for authors on another version of Swift: needs and exports nothing
  /// of the host's runtime.
  @Test func aSelfContainedStageInSwiftLoads() throws {
    let installed = try Installation.shared()
    let folder = try TemporaryFolder()
    let made = try installed.run(["stages", "new", "my-content"], in: folder)
    #expect(made.status == 0, "\(made.err)")
    try build(installed, folder, "content", ["-Xswiftc", "-static-stdlib"])
    let plugin = ".build/release/libsluice-my-content.so"
    let inspected = try installed.run(
      ["stages", "inspect", plugin, "--format", "json"], in: folder, below: "my-content")
    let libraries = try inspected.only(Printed.Inspection.self).libraries
    #expect(!libraries.contains { $0.hasPrefix("libswift") }, "\(libraries)")
    let tested = try installed.run(["test", "."], in: folder, below: "my-content")
    #expect(tested.status == 0, "\(tested.out)\(tested.err)")
    // Beside plugins that use the host's runtime, in one pipeline.
    try expectItRuns(installed, folder, "content")
  }

  @Test func theInstalledProgramNeedsNothingOfTheBuildTree() throws {
    let installed = try Installation.shared()
    let folder = try TemporaryFolder()
    for file in try FileManager.default.contentsOfDirectory(atPath: installed.prefix + "/lib/sluice") {
      let path = installed.prefix + "/lib/sluice/" + file
      let dynamic = try SluiceCommand.run(["-d", path], in: folder, program: "/usr/bin/readelf").out
      let runpath = dynamic.split(separator: "\n").filter { $0.contains("RUNPATH") || $0.contains("RPATH") }
      #expect(runpath.count == 1 && runpath[0].contains("[$ORIGIN]"), "\(file): \(runpath)")
    }
    let version = try installed.run(["version"], in: folder)
    #expect(version.status == 0)
  }

  @Test(arguments: [
    "Upper", "two words", "", "-x", "a--b", "../up", "1st", String(repeating: "a", count: 41),
  ])
  func aNameThatIsNoneIsRefused(name: String) throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(["stages", "new", "--", name], in: folder)
    #expect(outcome.status == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { $0.hasPrefix(".") })
  }

  @Test func aFolderThatIsThereIsNotWrittenTo() throws {
    let folder = try TemporaryFolder()
    try folder.write("mine/README.md", "mine")
    let outcome = try Installation.shared().run(["stages", "new", "mine"], in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("mine"))
    #expect(folder.files(below: "mine") == ["README.md"])
  }

  /// By whatever path it is called.
  @Test func theProgramOfABuildFindsItsTemplates() throws {
    let folder = try TemporaryFolder()
    let program = URL(fileURLWithPath: SluiceCommand.folder + "/sluice")
    for (name, file) in [("one", program), ("two", program.resolvingSymlinksInPath())] {
      let process = Process()
      process.executableURL = file
      process.arguments = ["stages", "new", name, "--language", "c"]
      process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      #expect(
        process.terminationStatus == 0 && folder.files(below: name).contains("\(name).c"), "\(file.path)")
    }
  }

  /// A name may be a word of the templates.
  @Test func aStageMayBeCalledAsTheExamplesAre() throws {
    let folder = try TemporaryFolder()
    let made = try Installation.shared().run(
      ["stages", "new", "greeting-list", "--language", "c"], in: folder)
    #expect(made.status == 0, "\(made.err)")
    #expect(folder.files(below: "greeting-list").contains("greeting-list.c"))
    #expect(try folder.read("greeting-list/greeting-list.c").contains("greeting_list_stage("))
    #expect(try folder.read("greeting-list/pipeline.yaml").contains("use: greeting-list\n"))
  }

  @Test(arguments: [("channel", "content"), ("source", "network")])
  func theExampleOfARoleHasOneCapability(role: String, capability: String) throws {
    let outcome = try SluiceCommand.run(
      ["stages", "new", "mine", "--role", role, "--capability", "store"], in: TemporaryFolder())
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("capability \(capability); leave --capability out"), "\(outcome.err)")
  }

  /// A second plugin of an id would hide the first, or be hidden by it.
  @Test func aNameThatAPluginHasAlreadyIsRefused() throws {
    let folder = try TemporaryFolder()
    try folder.write("plugins/mine.so", "")
    let outcome = try SluiceCommand.run(
      ["stages", "new", "mine"], in: folder, environment: ["SLUICE_PLUGIN_PATH": folder.path + "/plugins"])
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("plugins/mine.so; give another NAME"), "\(outcome.err)")
  }

  /// The page on stages shows exactly these files.
  @Test func theExamplesInTheReadmeAreTheTestedOnes() throws {
    let page = try String(contentsOfFile: SluiceCommand.projectFolder + "/docs/stages.md", encoding: .utf8)
    for file in ["Templates/swift/content/Greeting.swift", "Templates/c/content/greeting.c"] {
      let text = try String(contentsOfFile: "\(SluiceCommand.projectFolder)/\(file)", encoding: .utf8)
      #expect(page.contains("\n\(text)```"), "\(file)")
    }
  }

  /// Authors read the kit's sources where they are installed.
  @Test func everyPublicSymbolOfTheKitIsDocumented() throws {
    let kit = SluiceCommand.projectFolder + "/Sources/Contract/StageKit"
    for file in try FileManager.default.contentsOfDirectory(atPath: kit) {
      let text = try String(contentsOfFile: "\(kit)/\(file)", encoding: .utf8)
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      for (line, above) in zip(lines.dropFirst(), lines) where line.hasPrefix("public ") {
        #expect(above.hasPrefix("///") || above.hasPrefix("@"), "\(file): \(line)")
      }
    }
  }

  // MARK: Steps

  private func build(
    _ installed: Installation, _ folder: TemporaryFolder, _ capability: String, _ words: [String] = []
  ) throws {
    let built = try installed.tool(
      "swift", ["build", "-c", "release"] + words, in: folder, below: "my-\(capability)")
    #expect(built.status == 0, "\(built.out)\(built.err)")
    #expect(!(built.out + built.err).contains("warning:"), "\(built.out)\(built.err)")
  }

  private func expectItRuns(_ installed: Installation, _ folder: TemporaryFolder, _ capability: String) throws
  {
    let below = "my-\(capability)"
    try folder.write("\(below)/hello.txt", "hello, world\n")
    try folder.write("\(below)/other.txt", "goodbye\n")
    // No server listens for the network stage: its attachments are tried again.
    if capability == "network" {
      let ran = try installed.run(
        ["stages", "run", "./\(plugin(folder, below))", "hello.txt", "--format", "json"], in: folder,
        below: below)
      #expect(try ran.only(Printed.StageRun.self).code == "unavailable")
      return
    }
    if capability == "source" { return try expectItFetches(installed, folder, below) }
    try Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]).write(
      to: URL(fileURLWithPath: "\(folder.path)/\(below)/no-text"))
    let files = capability == "end" ? ["hello.txt", "no-text"] : ["hello.txt", "other.txt"]
    let ran = try installed.run(
      ["ingest", "--config", "pipeline.yaml", "--format", "json"] + files, in: folder, below: below)
    let isPicky = ["content", "end"].contains(capability)
    let statuses = ran.attachments.map(\.status).sorted()
    #expect(statuses == ["completed", isPicky ? "rejected" : "completed"], "\(ran.out)\(ran.err)")
    #expect(folder.files(below: "\(below)/var/store").count == (isPicky ? 1 : 2))
    if ["end", "channel"].contains(capability) {
      let events = try folder.read("\(below)/var/events.jsonl").split(separator: "\n").map {
        try JSON(String($0))
      }
      let type = capability == "end" ? "my-end.refused" : "attachment.completed"
      #expect(events.map { $0["type"].text } == Array(repeating: type, count: capability == "end" ? 1 : 2))
    }
  }

  private func expectItFetches(_ installed: Installation, _ folder: TemporaryFolder, _ below: String) throws {
    let links = ["2", "400000", "none"].map { "https://lines.example/\($0)" }
    let ran = try installed.run(
      ["fetch", "--config", "pipeline.yaml", "--format", "json"] + links, in: folder, below: below)
    #expect(ran.status == 1)
    #expect(
      ran.attachments.map { "\($0.status) \($0.reason?.code ?? "")" }.sorted() == [
        "completed ", "completed ", "failed unknown-link",
      ], "\(ran.out)\(ran.err)")
    let sizes = ran.attachments.compactMap(\.sizeBytes).sorted()
    #expect(sizes == [38, 7_600_000])
  }

  private func plugin(_ folder: TemporaryFolder, _ below: String) -> String {
    let inSwift = ".build/release/libsluice-\(below).so"
    let isSwift = FileManager.default.fileExists(atPath: "\(folder.path)/\(below)/\(inSwift)")
    return isSwift ? inSwift : "libsluice-\(below).so"
  }
}
