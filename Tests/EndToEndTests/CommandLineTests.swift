import Foundation
import Testing

/// The commands beside `ingest`, as users see them. Their output is compared with the files in `Golden`;
/// `UPDATE_GOLDEN=1` rewrites these.
@Suite struct CommandLineTests {
  static let commands = [
    "ingest", "run", "serve", "enqueue", "fetch", "retry", "refresh", "cancel", "prioritize", "now", "delete",
    "prune",
    "pause",
    "resume",
    "reset", "tokens add", "tokens list", "tokens revoke",
    "users add", "users list", "users show", "users password", "users disable", "users enable", "users erase",
    "send", "conversations list",
    "conversations begin", "messages", "search",
    "downloads", "deliveries", "dead-letters list", "dead-letters retry", "dead-letters drop", "status",
    "list", "show",
    "get", "report", "watch", "replay", "verify", "backup", "rekey",
    "check", "lint", "graph", "schema", "test",
    "stages list",
    "stages new",
    "stages run", "stages check", "stages inspect", "stages doctor", "doctor", "version", "completions",
  ]

  // MARK: Help

  @Test func theOverviewNamesEveryCommand() throws {
    let outcome = try SluiceCommand.run(["--help"], in: TemporaryFolder())
    #expect(outcome.status == 0)
    try Golden.expect(outcome.out, "overview")
    let named = outcome.out.split(separator: "\n").filter { $0.hasPrefix("  ") }.map {
      $0.dropFirst(2).components(separatedBy: "  ")[0]
    }
    #expect(named == Self.commands)
  }

  @Test(arguments: commands)
  func everyCommandHasHelpWithAnExample(command: String) throws {
    let folder = try TemporaryFolder()
    let words = command.split(separator: " ").map(String.init)
    let outcome = try SluiceCommand.run(words + ["--help"], in: folder)
    #expect(outcome.status == 0)
    #expect(outcome.out.contains("\nExample:\n  "))
    #expect(try SluiceCommand.run(["help"] + words, in: folder).out == outcome.out)
    try Golden.expect(outcome.out, "help-\(words.joined(separator: "-"))")
  }

  @Test(arguments: [
    (["lst"], "did you mean 'list'?"), (["stages"], "needs one of: list, new, run, check, inspect, doctor"),
    (["stages", "rn"], "did you mean 'run'?"), (["list", "--stats", "x"], "did you mean '--status'?"),
    (["list", "--status", "lost"], "one or more of queued,completed,rejected"), (["show"], "needs one ID"),
    (["completions", "tcsh"], "bash, zsh, fish"), (["doctor", "me"], "takes no 'me'"),
    (["stages", "run", "size"], "needs a STAGE and a FILE"),
    (["stages", "run", "size", "x", "--timeout", "30"], "a duration such as 500ms, 30s or 5m, not '30'"),
    (["stages", "run", "size", "x", "--memory", "1MB"], "a size from 16MB to 64GB"),
    (["stages", "run", "size", "x", "--media-type", "pdf"], "a media type such as application/pdf"),
  ])
  func aWrongCommandLineIsExplained(words: [String], explanation: String) throws {
    let outcome = try SluiceCommand.run(words, in: TemporaryFolder())
    #expect(outcome.status == 2)
    #expect(outcome.err.contains(explanation))
    #expect(outcome.out.isEmpty)
  }

  // MARK: Version

  @Test func theVersionIsThatOfTheContract() throws {
    let folder = try TemporaryFolder()
    try Golden.expect(try SluiceCommand.run(["version"], in: folder).out, "version")
    let header = try String(
      contentsOfFile: SluiceCommand.projectFolder + "/Sources/Contract/CStage/include/sluice/stage.h",
      encoding: .utf8)
    let numbers = header.matches(of: /#define SLUICE_ABI_(?:MAJOR|MINOR) (?:\(\(uint32_t\))?([0-9]+)/).map(
      \.output.1)
    let version = try SluiceCommand.run(["version", "--format", "json"], in: folder)
    #expect(try version.only(Printed.Version.self).stageABI == numbers.joined(separator: "."))
  }

  // MARK: Lint

  static let faulty = """
    version: 1
    stages:
      - use: mimee
      - use: mime
        options: { alow: [a/b] }
        timeout: 30
      - use: size
        options: { max: 10 }
        when: pdf
      - use: jsonl
    retri: {}
    """

  @Test func lintTellsEverythingThatIsWrong() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.faulty)
    let outcome = try SluiceCommand.run(["lint"], in: folder)
    #expect(outcome.status == 78)
    #expect(outcome.out.isEmpty)
    try Golden.expect(outcome.err, "lint-errors")
    let mistakes = try SluiceCommand.run(["lint", "pipeline.yaml", "--format", "json"], in: folder)
      .every(Printed.Diagnostic.self)
    #expect(mistakes.count == outcome.err.split(separator: "\n").count)
  }

  @Test func lintSaysWhatAGoodPipelineHas() throws {
    let folder = try TemporaryFolder()
    try folder.write("open.yaml", Pipelines.open)
    let outcome = try SluiceCommand.run(["lint", "open.yaml"], in: folder)
    #expect(outcome.status == 0)
    try Golden.expect(outcome.out, "lint-good")
    #expect(try SluiceCommand.run(["lint", "-"], in: folder, input: Pipelines.open).status == 0)
    #expect(try SluiceCommand.run(["lint", "no.yaml"], in: folder).status == 78)
  }

  // MARK: The ledger's content

  /// Three attachments, one of them empty and one with a hostile name.
  private func ingested() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    try folder.write("in/a.txt", "the first\n")
    try folder.write("in/b\u{1B}[31m\n.txt", "the second\n")
    try folder.write("in/c.txt", "")
    let outcome = try SluiceCommand.run(
      ["ingest", "--conversation", "c1", "--sender", "ann", "--participants", "ann,ben", "in"], in: folder)
    #expect(outcome.status == 1, "\(outcome.err)")
    return folder
  }

  @Test func whatIsInTheLedgerIsShown() throws {
    let folder = try ingested()
    let list = try SluiceCommand.run(["list"], in: folder)
    try Golden.expect(list.out, "list", in: folder)
    let rejected = try SluiceCommand.run(["list", "--status", "rejected", "--format", "json"], in: folder)
    try Golden.expect(rejected.out, "list-json", in: folder)
    try Golden.expect(try SluiceCommand.run(["status"], in: folder).out, "status", in: folder)
    try Golden.expect(
      try SluiceCommand.run(["status", "--format", "json"], in: folder).out, "status-json", in: folder)
    let id = try #require(rejected.attachments.first).id
    try Golden.expect(try SluiceCommand.run(["show", id], in: folder).out, "show", in: folder)
    let story = try SluiceCommand.run(["show", id, "--format", "json"], in: folder).only(Printed.Story.self)
    #expect(!story.attempts.isEmpty)
    #expect(story.deliveries.first?.recipient == "ben")
    // No text from outside reaches a terminal unescaped.
    #expect(!(list.out.contains("\u{1B}")))
  }

  @Test func anIdMayBeShortenedAsLongAsItIsToldApart() throws {
    let folder = try ingested()
    let ids = try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments.map(\.id)
    let first = try #require(ids.first)
    let ambiguous = try SluiceCommand.run(["show", String(first.prefix(4))], in: folder)
    #expect(ambiguous.status == 2)
    #expect(ids.allSatisfy { ambiguous.err.contains($0) })
    let unique = try #require(
      (1...first.count).map { first.prefix($0) }.first { start in
        ids.filter { $0.hasPrefix(start) }.count == 1
      })
    #expect(try SluiceCommand.run(["show", unique.uppercased()], in: folder).out.contains(first))
    let unknown = try SluiceCommand.run(["show", "ffff"], in: folder)
    #expect(unknown.status == 2)
    #expect(unknown.err.contains("no attachment's id begins with 'ffff'"))
  }

  @Test(arguments: [["status"], ["list"], ["show", "1"]])
  func aHomeThatIsNotThereIsNotMade(command: [String]) throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(command + ["--home", "nowhere"], in: folder)
    #expect(outcome.status == 2)
    #expect(
      outcome.err == "sluice: nowhere has no ledger; `sluice ingest` makes one, or give another --home\n")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/nowhere"))
  }

  @Test func readersLeaveNothingInAHome() throws {
    let folder = try ingested()
    let before = folder.files(below: "var")
    for command in [["status"], ["list"]] { try SluiceCommand.run(command, in: folder) }
    #expect(folder.files(below: "var") == before)
  }

  @Test func readersWorkBesideAnIngest() throws {
    let folder = try TemporaryFolder()
    try Trouble.build("trouble", in: folder)
    try folder.write("pipeline.yaml", Pipelines.only("trouble, timeout: 60s", plugins: "plugins"))
    try folder.write("in/hang", "x")
    let ingest = try SluiceCommand.start(
      ["ingest", "in"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
    defer { ingest.terminate() }
    var seen: Printed.Status?
    for _ in 0..<1000 {
      Thread.sleep(forTimeInterval: 0.05)
      seen = try SluiceCommand.run(["status", "--format", "json"], in: folder)
        .records(Printed.Status.self).first
      if seen?.queue.leased == 1 { break }
    }
    let status = try #require(seen)
    #expect(status.queue.leased == 1)
    #expect(status.inUse == true)
    #expect(status.oldestQueuedAt != nil)
    let listed = try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments
    try #require(listed.map(\.status) == ["queued"])
    #expect(try SluiceCommand.run(["show", listed[0].id], in: folder).out.contains("queued"))
    #expect(ingest.isRunning)
  }

  // MARK: Stages

  @Test func stagesAreListedWithWhyOneDoesNotLoad() throws {
    let folder = try TemporaryFolder()
    try Trouble.build("trouble", in: folder)
    try Trouble.build("foreign", in: folder, major: 9)
    try Trouble.build("other", in: folder, file: "renamed")
    try folder.write("plugins/words.so", "not a library")
    let environment = ["SLUICE_PLUGIN_PATH": folder.path + "/plugins"]
    let outcome = try SluiceCommand.run(
      ["stages", "list", "--format", "json"], in: folder, environment: environment)
    #expect(outcome.status == 0)
    let listed = try outcome.every(Printed.Plugin.self)
    let plugins = Dictionary(uniqueKeysWithValues: listed.map { ($0.id, $0) })
    for id in ["mime", "size", "pdf", "store", "notify", "jsonl", "webhook", "trouble"] {
      let plugin = try #require(plugins[id], "\(id)")
      #expect(plugin.problem == nil, "\(id)")
      #expect(plugin.version?.isEmpty == false, "\(id)")
    }
    #expect(plugins["notify"]?.role == "end")
    #expect(plugins["store"]?.capability == "store")
    for (id, reason) in [
      ("foreign", "is built for stage ABI 9.0, and this sluice speaks 1.1"),
      ("renamed", "exports no function 'renamed_stage'"), ("words", "does not load: "),
    ] {
      #expect(plugins[id]?.problem?.contains(reason) == true, "\(id)")
    }
    let named = ["stages", "list", "foreign", "renamed", "trouble", "words"]
    let wrong = try SluiceCommand.run(named, in: folder, environment: environment)
    #expect(wrong.status == 1)
    try Golden.expect(wrong.out, "stages-list", in: folder)
    let doctor = try SluiceCommand.run(["doctor"], in: folder, environment: environment)
    #expect(doctor.status == 1)
    #expect(
      doctor.out.contains("stage 'foreign': ")
        && doctor.out.contains("rebuild it against this version's header"))
  }

  @Test func aStageRunsAlone() throws {
    let folder = try TemporaryFolder()
    try folder.write("small", "abc")
    try folder.write("large", String(repeating: "x", count: 2048))
    try folder.write("page.html", "<!DOCTYPE html><html><body>hello</body></html>\n")
    let files = ["small", "large", "missing", "."]
    let size = try SluiceCommand.run(["stages", "run", "size", "--set", "max=1KB"] + files, in: folder)
    #expect(size.status == 1)
    try Golden.expect(size.out, "stages-run", in: folder)
    let mime = ["stages", "run", "mime", "--declared-type", "image/png", "page.html"]
    let text = try SluiceCommand.run(mime, in: folder)
    #expect(text.status == 0)
    try Golden.expect(text.out, "stages-run-metadata", in: folder)
    let run = try SluiceCommand.run(mime + ["--format", "json"], in: folder).only(Printed.StageRun.self)
    #expect(run.mediaType == "text/html")
    #expect(run.metadata["mime.mismatch"] == true)
    let input = try SluiceCommand.run(["stages", "run", "digest", "-"], in: folder, input: "abc")
    #expect(input.out.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
  }

  @Test func theStoreRunsAloneInAFolderThatGoes() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", "abc")
    let outcome = try SluiceCommand.run(
      [
        "stages", "run", "store", "--set", "path=objects/{sha256}.{extension}", "--media-type", "text/plain",
        "a",
        "--format", "json",
      ], in: folder, environment: ["TMPDIR": folder.path])
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(
      try outcome.only(Printed.StageRun.self).location
        == "objects/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.txt")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a"])
  }

  @Test func aStageThatTakesItsWorkerDownIsNamedAndTheNextFileGoesOn() throws {
    let folder = try TemporaryFolder()
    try Trouble.build("trouble", in: folder)
    let files = ["fine", "crash", "spin", "eat", "exit", "fine"]
    for file in files { try folder.write(file, "x") }
    let outcome = try SluiceCommand.run(
      ["stages", "run", "plugins/trouble.so", "--timeout", "300ms", "--memory", "64MB", "--format", "json"]
        + files,
      in: folder)
    #expect(outcome.status == 1)
    let runs = try outcome.every(Printed.StageRun.self)
    try #require(
      runs.map(\.verdict) == ["pass", "crashed", "timed-out", "over-limit", "crashed", "pass"])
    let messages = runs.map { $0.message ?? "" }
    #expect(messages[1].contains("SIGSEGV"))
    #expect(messages[2].contains("took more than 300ms"))
    #expect(messages[3].contains("`memory` allows 64MB"))
    #expect(messages[4].contains("status 3"))
  }

  @Test(arguments: [
    (["notify", "a"], 2, "'notify' runs at the end of a line"),
    (["jsonl", "a"], 2, "'jsonl' delivers events"),
    (["siz", "a"], 2, "no stage 'siz' is found; did you mean 'size'?"),
    (["size", "--set", "max=10", "a"], 2, "10 is a bare number; write 10MB for megabytes or 10B for bytes"),
    (["size", "--set", "mx=10MB", "a"], 2, "did you mean 'max'?"),
    (["store", "a"], 2, "stage 'store' needs its option 'path'"),
    (["./none.so", "a"], 2, "No such file"),
  ])
  func aStageThatCannotRunAloneIsExplained(words: [String], status: Int32, explanation: String) throws {
    let outcome = try SluiceCommand.run(["stages", "run"] + words, in: TemporaryFolder())
    #expect(outcome.status == status)
    #expect(outcome.err.contains(explanation), "\(outcome.err)")
  }

  @Test func aBrokenPipelineDoesNotKeepStagesFromBeingListed() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", "stages: [")
    let outcome = try SluiceCommand.run(["stages", "list", "size"], in: folder)
    #expect(outcome.status == 0)
    #expect(outcome.err.contains("`sluice lint` tells more"))
    #expect(try SluiceCommand.run(["stages", "list", "-c", "pipeline.yaml"], in: folder).status == 78)
  }

  // MARK: Doctor

  @Test func theDoctorTellsHowTightlyAWorkerIsClosed() throws {
    let outcome = try SluiceCommand.run(["doctor", "--format", "json"], in: TemporaryFolder())
    let doctor = try outcome.only(Printed.Doctor.self)
    #expect(doctor.parts.count == 6)
    #expect(
      doctor.parts.first { $0.name == "Landlock TCP" }?.gives
        == "only stages with the capability `network` connect, and nothing listens")
    // If the kernel lacks a required part, the doctor reports it and exits with 1.
    let missing = doctor.parts.filter { $0.required && !$0.inForce }
    #expect(missing.isEmpty == (outcome.status == 0))
    #expect(missing.isEmpty == (doctor.sandbox == "complete"))
  }

  // MARK: Completions and color

  @Test(arguments: ["bash", "zsh", "fish"])
  func completionsKnowEveryCommandAndOption(shell: String) throws {
    let folder = try TemporaryFolder()
    let script = try SluiceCommand.run(["completions", shell], in: folder).out
    for command in Self.commands {
      for word in command.split(separator: " ") { #expect(script.contains(word), "\(word)") }
      let help = try SluiceCommand.run(
        command.split(separator: " ").map(String.init) + ["--help"], in: folder
      ).out
      for option in help.matches(of: /--([a-z-]+)/).map(\.output.1) {
        #expect(script.contains(option), "\(command) --\(option)")
      }
    }
    let file = try folder.write("script", script)
    guard
      let path = ["/bin/", "/usr/bin/"].map({ $0 + shell }).first(where: FileManager.default.isExecutableFile)
    else { return }
    let check = try Process.run(URL(fileURLWithPath: path), arguments: ["-n", file])
    check.waitUntilExit()
    #expect(check.terminationStatus == 0)
  }

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash"), "needs bash"),
    arguments: [
      ("sta", "status,stages"), ("stages r", "run"), ("list --stat", "--status"),
      ("list --status re", "rejected"),
      ("stages run --sandbox ", "on,prefer,off"), ("completions z", "zsh"),
      ("lint pipe", "pipeline.yaml"),
    ])
  func bashCompletes(line: String, words: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", "")
    let script = """
      source <('\(SluiceCommand.folder)/sluice' completions bash)
      IFS=' ' read -ra COMP_WORDS <<< 'sluice \(line)'
      [[ '\(line)' == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sluice; (IFS=,; echo "${COMPREPLY[*]}")
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let out = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(out == words + "\n")
  }

  /// script(1) runs a program on its own terminal, if the system provides one.
  static let hasTerminals: Bool = {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/script")
  }()

  @Test(.enabled(if: hasTerminals, "needs a terminal and script(1)"))
  func colorIsForTerminalsThatWantIt() throws {
    let folder = try ingested()
    func terminal(_ words: String, _ variables: String) throws -> String {
      let process = Process()
      process.environment = ["PATH": "/usr/bin:/bin"]
      process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
      process.arguments = ["-qec", "\(variables) '\(SluiceCommand.folder)/sluice' \(words)", "/dev/null"]
      process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardInput = FileHandle.nullDevice
      try process.run()
      defer { process.waitUntilExit() }
      return String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    let colored = try terminal("list", "TERM=xterm")
    #expect(colored.contains("\u{1B}[32mcompleted\u{1B}[0m"), "\(colored)")
    #expect(try !terminal("list", "TERM=xterm NO_COLOR=1").contains("\u{1B}"))
    #expect(try !terminal("list --no-color", "TERM=xterm").contains("\u{1B}"))
    #expect(try !SluiceCommand.run(["list"], in: folder).out.contains("\u{1B}"))
  }
}
