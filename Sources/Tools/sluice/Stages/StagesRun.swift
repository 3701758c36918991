import CPlatform
import Configuration
import Glibc
import Pipeline
import Platform
import Workbench

/// `sluice stages run`: one stage alone, as the pipeline would run it, on files at hand.
struct StagesRun: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages run", abstract: "Run one stage alone on files.", arguments: "STAGE FILE…",
    discussion: """
      STAGE is the id of a stage of the line, or a plugin's file, and each FILE goes through it in a worker, under
      the sandbox and within the limits; `-` is standard input. What the stage says is printed for each file. A
      stage that stores writes to a temporary folder that is removed afterwards. In a tool the worker has the
      terminal, no sandbox and no limits. The exit code is 1 if any file was not passed.
      """,
    options: [
      CommandOption(
        name: "set", value: "NAME=VALUE",
        help: "An option of the stage; lists with commas, maps as PATTERN:VALUE; repeatable.",
        takesSeveral: true),
      CommandOption(
        name: "media-type", value: "TYPE", help: "The type an earlier stage would have found; else unknown."),
      CommandOption(name: "declared-type", value: "TYPE", help: "The type the sender would have declared."),
      CommandOption(
        name: "sandbox", value: "on|prefer|off",
        help: "Whether to refuse, or go on, where the kernel lacks a part of it; else on.",
        choices: ["on", "prefer", "off"]),
      CommandOption(
        name: "timeout", value: "DURATION", help: "For one file, such as 500ms or 30s; else 60s."),
      CommandOption(
        name: "memory", value: "SIZE", help: "What it may allocate, from 16MB to 64GB; else 256MB."),
      CommandOption(
        name: "repeat", value: "N", help: "Run each file so many times, and profile time and memory."),
      CommandOption(
        name: "save", value: "FOLDER",
        help: "Write new content, derived objects and children into this folder, which must be new."),
      CommandOption(name: "trace", help: "Show what the stage said and was told, in order."),
      CommandOption(
        name: "under", value: "gdb|valgrind", help: "Run the worker in this tool.",
        choices: Tool.allCases.map(\.rawValue)),
      .config, .trust, .format, .noColor,
    ],
    example: "sluice stages run size --set max=10MB --media-type image/png photo.png")

  private let arguments: ParsedArguments
  private let name: String
  private let files: [String]
  private let timeout: Int64?
  private let memory: Int64?
  private let count: Int64

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard let name = arguments.words.first, arguments.words.count > 1 else {
      throw .usage("`sluice stages run` needs a STAGE and a FILE; `sluice stages list` shows the stages")
    }
    self.arguments = arguments
    self.name = name
    files = Array(arguments.words.dropFirst())
    timeout = try Self.quantity("timeout", arguments, 1...86_400_000, "duration such as 500ms, 30s or 5m") {
      Interval($0)?.milliseconds
    }
    memory = try Self.quantity(
      "memory", arguments, (16 << 20)...(64 << 30), "size from 16MB to 64GB, such as 256MB"
    ) { ByteSize($0)?.bytes }
    count = try arguments.integer("repeat") ?? 1
    if !(1...1_000_000).contains(count) {
      throw .usage("option '--repeat' is from 1 to 1000000, not \(count)")
    }
    for option in ["media-type", "declared-type"] {
      guard let type = arguments.value(option) else { continue }
      if option == "media-type" && (MediaTypePattern(type) == nil || type.contains("*")) {
        throw .usage("option '--\(option)' is a media type such as application/pdf, not '\(type)'")
      }
      if type.utf8.count > 255 { throw .usage("option '--\(option)' has at most 255 bytes") }
    }
  }

  private static func quantity(
    _ name: String, _ arguments: ParsedArguments, _ range: ClosedRange<Int64>, _ wanted: String,
    _ read: (String) -> Int64?
  ) throws(CommandError) -> Int64? {
    guard let text = arguments.value(name) else { return nil }
    guard let value = read(text), range.contains(value) else {
      throw .usage("option '--\(name)' is a \(wanted), not '\(text)'")
    }
    return value
  }

  func run() throws -> ExitCode {
    let chosen = try ChosenStage(name, try Environment.search(arguments))
    let id = chosen.description.id
    switch chosen.description.role {
    case .line: break
    case .end, .channel:
      throw CommandError.usage(
        "'\(id)' \(chosen.description.role == .end ? "runs at the end of a line" : "delivers events"), and gets no file; "
          + "`sluice test` runs it on cases, `sluice ingest` in a pipeline")
    case .source:
      throw CommandError.usage(
        "'\(id)' fetches links, and gets no file; `sluice stages check \(id) --link URL` tries it, `sluice fetch` runs it "
          + "in a pipeline")
    }
    var stage = try chosen.definition(settings: arguments.values("set"))
    if let timeout { stage.timeout = timeout }
    if let memory { stage.memory = memory }
    var launch = try launch(&stage, chosen)
    // After that, so that no signal leaves the folder.
    let scratch =
      stage.description.capability == .store ? try ScratchFolder(in: Environment.temporaryFolder) : nil
    launch.folder = scratch?.descriptor.number ?? -1
    let bench = Bench(
      runner: StageRunner(stage, launch), digest: StageRunner(chosen.digest, Self.digestLaunch(launch)))
    var saved = try arguments.value("save").map { try SavedPieces($0) }
    let style = Style(arguments)
    var isClean = true
    for file in files {
      let report = try run(file, bench)
      Terminal.out(arguments.isJSON ? report.json : report.text(style))
      try saved?.add(report.result)
      if let remark = bench.runner.remark {
        Terminal.error("\(stage.id) says: \(Terminal.printable(remark))")
      }
      if report.result.death?.place != nil && !launch.isTraced {
        Terminal.error("--trace shows the calls that led there, and --under gdb looks inside")
      }
      isClean = isClean && report.result.isPassed
    }
    if let missing = SandboxPart.missing(bench.runner.ready?.sandbox, launch.sandbox) {
      Terminal.error(missing)
    }
    bench.runner.finish()
    withExtendedLifetime(scratch) {}
    return isClean ? .success : .incomplete
  }

  private func launch(
    _ stage: inout StageDefinition, _ chosen: ChosenStage
  ) throws(CommandError) -> StageRunner.Launch {
    var launch = Environment.launch(arguments, chosen.search)
    launch.isTraced = arguments.flag("trace")
    if let tool = arguments.value("under").flatMap({ Tool(rawValue: $0) }) {
      guard let words = tool.words(path: Environment.variables["PATH"] ?? "/usr/bin:/bin") else {
        throw CommandError(.configuration, "there is no \(tool.rawValue) in $PATH; install it first")
      }
      launch.tool = words
      launch.sandbox = .off
      launch.signals = -1  // Ctrl-C goes to the tool
      stage.memory = 64 << 40
      if tool == .gdb { Terminal.error("type `run` to start the worker") }
    }
    return launch
  }

  /// The launch for the worker that measures content, as in every pipeline.
  private static func digestLaunch(_ launch: StageRunner.Launch) -> StageRunner.Launch {
    var digest = StageRunner.Launch(executable: launch.executable)
    digest.sandbox = launch.sandbox
    digest.signals = launch.signals
    return digest
  }

  /// Each file is its own message, as in an ingest.
  private func run(_ file: String, _ bench: Bench) throws -> TrialReport {
    var ids = UUIDv7Generator()
    var profile = Profile()
    var result: TrialResult?
    do {
      let content = try Content(file)
      for _ in 0..<count {
        var trial = Trial(
          fileName: file == "-" ? "-" : file.split(separator: "/").last.map(String.init) ?? file,
          content: content)
        trial.work.origin = trial.work.origin.replacing(
          id: ids.next(), conversationId: "default", messageId: ids.next(), senderId: "operator",
          declaredType: arguments.value("declared-type"))
        trial.work.mediaType = arguments.value("media-type")
        let said = try bench.run(trial)
        profile.look(at: bench.runner.pid)
        profile.add(microseconds: said.microseconds)
        result = said
        if said.death != nil { break }
      }
    } catch let error as Content.Problem {
      var problem = TrialResult(verdict: Verdict.fail.name)
      (problem.code, problem.message) = (error.code, error.message)
      result = problem
    }
    return TrialReport(
      stage: bench.runner.stage.id, file: file, result: result ?? TrialResult(verdict: Verdict.fail.name),
      profile: arguments.value("repeat") != nil && profile.count > 0 ? profile : nil)
  }
}
