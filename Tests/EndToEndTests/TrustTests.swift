import Foundation
import Testing

/// A pipeline, or a plugin, that others could change decides nothing until somebody trusts it by name.
@Suite(.serialized)
struct TrustTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write("pipeline.yaml", Pipelines.only("act", plugins: "plugins"))
    try folder.write("plugins/note", "")
    try FixtureStages.compile("act", into: folder.path + "/plugins")
  }

  private func run(_ words: [String], trust: String? = nil) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words, in: folder, environment: trust.map { ["SLUICE_TRUST": $0] } ?? [:])
  }

  @Test func aPipelineThatOthersMayWriteIsRefused() throws {
    let file = folder.path + "/pipeline.yaml"
    #expect(try run(["lint"]).status == 0)
    try #require(chmod(file, 0o666) == 0)
    for words in [["lint"], ["ingest", "--home", "home", "in"], ["lint", "--config", file]] {
      let outcome = try run(words)
      #expect(outcome.status == 78, "\(words): \(outcome.err)")
      #expect(outcome.err.contains("may be written by others (mode 0666)"), "\(outcome.err)")
      #expect(outcome.err.contains("`--trust "), "\(outcome.err)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"))
    #expect(try run(["lint", "--trust", "pipeline.yaml"]).status == 0)
    #expect(try run(["lint"], trust: "/nowhere:\(folder.path)").status == 0)
  }

  @Test func aPluginThatOthersMayReplaceIsNotLoaded() throws {
    try #require(chmod(folder.path + "/plugins", 0o777) == 0)
    for words in [["lint"], ["ingest", "--home", "home", "in"]] {
      let outcome = try run(words)
      #expect(outcome.status == 78, "\(words): \(outcome.err)")
      #expect(outcome.err.contains("plugins/libsluice-act.so is not loaded: "), "\(outcome.err)")
    }
    let listed = try run(["stages", "list"])
    #expect(listed.out.contains("act") && listed.out.contains("is not loaded"), "\(listed.out)")
    #expect(listed.out.contains("Admits PDFs that open"), "others are listed")
    #expect(try run(["lint", "--trust", "plugins"]).status == 0)
  }

  /// The folder of somebody else, in which this user only looks.
  @Test(.enabled(if: geteuid() == 0)) func aForeignFolderIsLookedAtWithoutItsPlugins() throws {
    for name in ["", "/pipeline.yaml", "/plugins", "/plugins/libsluice-act.so"] {
      try #require(chown(folder.path + name, 4711, 4711) == 0)
    }
    let listed = try run(["stages", "list"])
    #expect(listed.status == 0 && !listed.out.contains("\nact "), "\(listed.out)")
    #expect(listed.err.contains("belongs to user 4711, who could change it"), "\(listed.err)")
    #expect(listed.err.contains("no folders of its `plugins` are searched"), "\(listed.err)")
    for words in [
      ["lint"], ["graph"], ["schema"], ["check", "in/a"],
      ["stages", "inspect", "./plugins/libsluice-act.so"],
    ] {
      let outcome = try run(words)
      #expect(outcome.status != 0 || words == ["schema"], "\(words): \(outcome.out)")
      #expect(
        outcome.err.contains("4711") || outcome.out.contains("4711"),
        "\(words): \(outcome.err) \(outcome.out)")
    }
    #expect(try run(["lint", "--trust", "."]).status == 0)
  }

  /// A stage that is a program: its files say what runs.
  @Test func aProgramThatOthersMayChangeIsNotStarted() throws {
    try folder.write(
      "plugins/count/stage.yaml",
      "id: count\nversion: 1.0.0\nsummary: Counts.\ncommand: [/bin/sh, count.sh]\n")
    try folder.write("plugins/count/count.sh", "exit 1\n")
    try folder.write("pipeline.yaml", Pipelines.only("count", plugins: "plugins"))
    #expect(!(try run(["lint"])).err.contains("is not loaded"))
    try #require(chmod(folder.path + "/plugins/count", 0o777) == 0)
    let outcome = try run(["lint"])
    #expect(
      outcome.status == 78 && outcome.err.contains("/plugins/count may be written by others"),
      "\(outcome.err)")
    try #require(chmod(folder.path + "/plugins/count", 0o755) == 0)
    #expect(try !run(["lint"]).err.contains("is not run"))
    let script = folder.path + "/plugins/count/count.sh"
    try #require(chmod(script, 0o666) == 0)
    func expectRefusal(_ words: [String]) throws {
      let outcome = try run(words)
      #expect(outcome.status == 78, "\(words): \(outcome.err)")
      #expect(outcome.err.contains("count.sh is not run: "), "\(outcome.err)")
    }
    try expectRefusal(["lint"])
    try expectRefusal(["ingest", "--home", "home", "in"])
    #expect(try !run(["lint", "--trust", "plugins"]).err.contains("is not run"))
    try folder.write(
      "pipeline.yaml",
      "version: 1\nstages: [{ use: exec, options: { command: [/bin/sh, plugins/count/count.sh] } }]\n")
    try expectRefusal(["lint"])
    try expectRefusal(["check", "in/a"])
    try #require(chmod(script, 0o644) == 0)
    #expect(try !run(["lint"]).err.contains("is not run"))
  }
}
