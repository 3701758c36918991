import Foundation
import Testing

/// Pipelines that cannot be used are refused before anything runs, with the place and the remedy.
@Suite(.serialized)
struct BadPipelineTests {
  private func open() throws -> Inbox {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    try inbox.add("good", "a good one\n")
    return inbox
  }

  struct BadPipeline: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var says: String
    var testDescription: String { name }

    /// A pipeline with a stage of this name in line 3.
    static func use(_ stage: String, _ says: String) -> BadPipeline {
      BadPipeline(
        name: stage, text: "version: 1\nstages:\n  - use: \(stage)\n",
        says: "pipeline.yaml:3:10: stage '\(stage)' cannot be used: \(says)")
    }
  }

  /// As with `--config <(envsubst < pipeline.yaml)`: a pipe has its content once.
  @Test func aPipelineFromAPipeIsReadOnce() throws {
    let folder = try TemporaryFolder()
    mkfifo(folder.path + "/pipe", 0o600)
    let status = try FixtureStages.run(
      "/bin/sh",
      [
        "-c",
        "cd '\(folder.path)' && { printf 'nonsense\\n' > pipe & timeout 20 '\(SluiceCommand.folder)/sluice' ingest "
          + "--config pipe --home home . 2>said; }",
      ])
    #expect(status == 78)
    #expect(try folder.read("said").contains("pipe:1:1: a pipeline file is a map of keys"))
  }

  static let badPipelines = [
    BadPipeline(
      name: "no YAML", text: "version: 1\nstages:\n  - use: [mime\n",
      says:
        "pipeline.yaml:4:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins "
        + "at line 3, column 10; close each bracket, and put a value with '{', '[' or ',' in quotes"),
    BadPipeline(
      name: "unknown option", text: "version: 1\nstages:\n  - use: pdf\n    options: { max-page: 3 }\n",
      says: "pipeline.yaml:4:16: unknown option 'max-page' for stage 'pdf'; did you mean 'max-pages'?"),
    BadPipeline(
      name: "unknown stage", text: "version: 1\nstages:\n  - use: mine\n",
      says: "pipeline.yaml:3:10: unknown stage 'mine'; did you mean 'mime'?"),
    .use(
      "foreign-abi",
      "PLUGINS/libsluice-foreign-abi.so: is built for stage ABI 99.7, and this sluice speaks 1.1; rebuild it against "
        + "this version's header; `sluice doctor` tells more"),
    .use(
      "strange-option",
      "PLUGINS/libsluice-strange-option.so: its option 'colour' has type 99, which this version does not know; a newer "
        + "sluice may; `sluice doctor` tells more"),
    .use(
      "empty-range",
      "PLUGINS/libsluice-empty-range.so: its option 'height' has the minimum 10 above its maximum 5, so that no value is "
        + "allowed; make the maximum as large at least (INT64_MAX: no upper bound; both 0: no bounds); `sluice doctor` tells "
        + "more"),
    .use(
      "not-a-library",
      "PLUGINS/libsluice-not-a-library.so: does not load: PLUGINS/libsluice-not-a-library.so: file too short; "
        + "`sluice doctor` tells more"),
    .use(
      "missing-symbol",
      "PLUGINS/libsluice-missing-symbol.so: exports no function 'missing_symbol_stage'; is it a stage, and is "
        + "'missing-symbol' its id?; `sluice doctor` tells more"),
    .use(
      "crash-on-load",
      "PLUGINS/libsluice-crash-on-load.so: takes its process down while it loads: crashed: SIGSEGV; it last said: about "
        + "to go wrong; `sluice doctor` tells more"),
    .use(
      "hang-on-load",
      "PLUGINS/libsluice-hang-on-load.so: does not load within 10s; `sluice doctor` tells more"),
  ]

  @Test(arguments: badPipelines)
  func aPipelineThatCannotBeUsedIsRefusedBeforeAnythingRuns(bad: BadPipeline) throws {
    let inbox = try open()
    try inbox.folder.write("pipeline.yaml", bad.text)
    let run = try inbox.run()
    let said = run.outcome.err.replacingOccurrences(of: try FixtureStages.folder(), with: "PLUGINS")
    #expect(said == bad.says + "\n")
    #expect(run.outcome.status == 78)
    #expect(run.outcome.out == "")
    #expect(!FileManager.default.fileExists(atPath: inbox.folder.path + "/home"))
    try Inbox.expectNoWorkers(of: run.pid)
  }

  @Test func aPluginThatHangsDiesWithWhoeverAsked() throws {
    let inbox = try open()
    try inbox.folder.write("pipeline.yaml", Pipelines.only("hang-on-load"))
    let underway = try inbox.start()
    let pid = underway.process.processIdentifier
    waitBriefly(5) { !Inbox.workers(of: pid).isEmpty }
    usleep(200_000)
    #expect(!Inbox.workers(of: pid).isEmpty)
    kill(pid, SIGKILL)
    underway.process.waitUntilExit()
    try Inbox.expectNoWorkers(of: pid)
  }

  @Test func aPipelineThatIsNoFileIsToldWithARemedy() throws {
    let inbox = try open()
    for (file, reason) in [("nowhere.yaml", "No such file or directory"), ("in", "Is a directory")] {
      let run = try inbox.run(options: ["--config", file])
      #expect(run.outcome.err == "sluice: \(file): \(reason); name a pipeline's file with --config FILE\n")
      #expect(run.outcome.status == 78)
    }
  }
}
