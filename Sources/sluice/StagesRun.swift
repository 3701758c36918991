import CPlatform
import Configuration
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// `sluice stages run`: one stage alone, as the pipeline would run it, on files at hand.
struct StagesRun: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages run", abstract: "Run one stage alone on files.", arguments: "STAGE FILE…",
    discussion: """
      STAGE is the id of a stage of the line, or a plugin's file, and each FILE goes through it in a worker, under
      the sandbox and within the limits; `-` is standard input. What the stage says is printed for each file. A
      stage that stores writes to a temporary folder that is removed afterwards. The exit code is 1 if any file
      was not passed.
      """,
    options: [
      CommandOption(
        name: "set", value: "NAME=VALUE",
        help: "An option of the stage; lists with commas, maps as PATTERN:VALUE; repeatable."),
      CommandOption(
        name: "media-type", value: "TYPE", help: "The type an earlier stage would have found; else unknown."),
      CommandOption(name: "declared-type", value: "TYPE", help: "The type the sender would have declared."),
      CommandOption(
        name: "sandbox", value: "require|prefer|off",
        help: "What to do where the kernel lacks a part of it; else require.",
        choices: SandboxPolicy.allCases.map(\.rawValue)),
      CommandOption(
        name: "timeout", value: "DURATION", help: "For one file, such as 500ms or 30s; else 60s."),
      CommandOption(
        name: "memory", value: "SIZE", help: "What it may allocate, from 16MB to 64GB; else 256MB."),
      .config, .format, .noColor,
    ],
    example: "sluice stages run size --set max=10MB --media-type image/png photo.png")

  private let arguments: ParsedArguments
  private let name: String
  private let files: [String]
  private let timeout: Int64?
  private let memory: Int64?

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
    let search = try Environment.search(arguments)
    let (stage, digest) = try stages(search)
    let scratch = stage.description.capability == .store ? try ScratchFolder() : nil
    // Workers end with this process, however it ends; a folder has to be taken away.
    let signals = scratch == nil ? -1 : sluice_signalfd()
    let sandbox = arguments.value("sandbox").flatMap { SandboxPolicy(rawValue: $0) } ?? .require
    let trials = StageTrials(
      runner: StageRunner(
        stage, executable: search.worker, sandbox: sandbox, folder: scratch?.descriptor.number ?? -1,
        signals: signals),
      digest: StageRunner(digest, executable: search.worker, sandbox: sandbox, signals: signals),
      mediaType: arguments.value("media-type"), declaredType: arguments.value("declared-type"))
    let style = Style(arguments)
    var isClean = true
    for file in files {
      let trial = try trials.run(file)
      Terminal.out(arguments.isJSON ? trial.json : trial.text(style))
      if let remark = trials.runner.remark {
        Terminal.error("\(stage.id) says: \(Terminal.printable(remark))")
      }
      isClean = isClean && trial.isPassed
    }
    if let missing = SandboxPart.missing(trials.runner.sandbox, sandbox) { Terminal.error(missing) }
    withExtendedLifetime(scratch) {}
    return isClean ? .success : .incomplete
  }

  // MARK: The stage

  private func stages(_ search: PluginSearch) throws -> (stage: StageDefinition, digest: StageDefinition) {
    let (id, file) = try plugin(search)
    var asked = [(id: id, file: file)]
    if id != "digest", let digest = search.file(of: "digest") { asked.append(("digest", digest)) }
    let described = search.describe(asked)
    guard case .success(let digest)? = described["digest"] else {
      throw CommandError(
        .configuration, "the stage 'digest' is not beside this program; is the installation whole?")
    }
    let description: StageDescription
    switch described[id] {
    case .success(let found): description = found
    case .failure(let refusal): throw CommandError(.configuration, "stage '\(id)': \(refusal.message)")
    case nil: throw CommandError(.internalError, "stage '\(id)' was not described")
    }
    if description.role != .line {
      throw CommandError.usage(
        "'\(id)' \(description.role == .end ? "runs at the end of a line" : "delivers events"), and gets no file; "
          + "`sluice ingest` runs it in a pipeline")
    }
    let values: [OptionValue]
    do {
      values = try StageSettings.values(arguments.values("set"), for: description)
    } catch {
      throw CommandError.usage(error.description)
    }
    var stage = StageDefinition(id: id, description: description, values: values)
    if let timeout { stage.timeout = timeout }
    if let memory { stage.memory = memory }
    return (stage, StageDefinition(id: digest.id, description: digest, values: []))
  }

  private func plugin(_ search: PluginSearch) throws(CommandError) -> (id: String, file: String) {
    if name.contains("/") {
      var id = String(name[name.index(after: name.lastIndex(of: "/") ?? name.startIndex)...])
      if id.hasPrefix("libsluice-") { id.removeFirst("libsluice-".count) }
      guard id.hasSuffix(".so") else { throw .usage("'\(name)' is no plugin: those end in .so") }
      return (String(id.dropLast(3)), name)
    }
    if let file = search.file(of: name) { return (name, file) }
    let near = Suggestion.remedy(for: name, among: search.all().map(\.id))
    let remedy = near.isEmpty ? "; `sluice stages list` shows those there are" : near
    throw .usage("no stage '\(Terminal.printable(name))' is found\(remedy)")
  }
}
