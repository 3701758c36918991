import CPlatform
import Glibc
import Ledger
import Manifest
import Pipeline
import Platform
import Scheduler
import Workers

/// `sluice ingest`: queues files, works until the queue is empty, and says what became of them.
struct Ingest: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "ingest", abstract: "Queue files and work until the queue is empty.", arguments: "PATH…",
    discussion: """
      Folders are walked. What an interrupted run left is finished too; a file that is known under the same message
      is not taken in again. A manifest has a JSON object a line: path, and optionally fileName conversationId
      messageId senderId participants text priority declaredType; paths are relative to the current folder.
      """,
    options: [
      .config, .home,
      CommandOption(
        name: "manifest", value: "FILE", help: "Take files from JSON lines; `-` is standard input."),
      CommandOption(
        name: "conversation", value: "ID", help: "The conversation the files belong to; else `default`."),
      CommandOption(name: "sender", value: "ID", help: "Who sends them; else `operator`."),
      CommandOption(name: "participants", value: "A,B", help: "Who takes part in the conversation."),
      CommandOption(name: "priority", value: "N", help: "Higher goes first; else 0."),
      .format, .quiet, .noColor,
    ],
    example: "sluice ingest --conversation c1 --sender anna --participants anna,ben inbox/")

  private let arguments: ParsedArguments
  private let defaults: IntakeDefaults
  private let manifest: String?
  private let paths: [String]

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    var defaults = IntakeDefaults()
    for (name, path) in [("conversation", \IntakeDefaults.conversationId), ("sender", \.senderId)] {
      guard let value = arguments.value(name) else { continue }
      if value.isEmpty || value.utf8.count > 256 { throw .usage("--\(name) has 1 to 256 bytes") }
      defaults[keyPath: path] = value
    }
    if let participants = arguments.value("participants") {
      defaults.participants = participants.split(separator: ",").map(String.init)
      if let long = defaults.participants.first(where: { $0.utf8.count > 256 }) {
        throw .usage("--participants holds an id of \(long.utf8.count) bytes, and 256 are allowed")
      }
    }
    defaults.priority = try arguments.integer("priority") ?? 0
    self.defaults = defaults
    manifest = arguments.value("manifest")
    paths = arguments.words
    if manifest == nil && paths.isEmpty {
      throw .usage(
        "`sluice ingest` needs a PATH, or --manifest FILE (`sluice ingest --help` shows an example)")
    }
    if manifest != nil && !paths.isEmpty { throw .usage("give paths or a manifest, not both") }
  }

  func run() throws -> ExitCode {
    let started = Clock.monotonic()
    let pipeline = try Environment.pipeline(file: Environment.pipelineFile(arguments))
    let manifest = try manifest.map { try Self.reader(of: $0) }
    // Before any thread starts, so that all threads leave the signals to the scheduler.
    let signals = sluice_signalfd()
    let home = Environment.home(arguments)
    try home.create()
    let lock = try home.lock()
    defer { withExtendedLifetime(lock) {} }
    let ledger = try Ledger(home)
    try ledger.resumeLanes()
    let before = try ledger.status()

    let intake = try Intake()
    let walker = InputWalker(intake: intake, defaults: defaults, home: home)
    let paths = paths
    let walking = try Thread { if let manifest { walker.read(manifest) } else { walker.walk(paths) } }
    let scheduler = Scheduler(
      pipeline.definition, digest: pipeline.digest, home: home, ledger: ledger,
      executable: pipeline.search.worker,
      signals: signals >= 0 ? signals : nil)
    let report = IngestReport(
      isJSON: arguments.value("format") == "json", isQuiet: arguments.flag("quiet"),
      left: before.attachments.first { $0.status == .queued }?.count ?? 0, problems: walker.problems)
    let summary: SchedulerSummary
    do {
      summary = try scheduler.run(intake) { report.take($0) }
    } catch {
      report.clear()
      walking.detach()
      throw error
    }
    // After a signal it may still wait for the next line of a manifest.
    if summary.wasStopped { walking.detach() } else { walking.join() }
    report.finish(
      summary, home: home, seconds: Double(Clock.monotonic() - started) / 1e9, left: try ledger.status())
    if let missing = SandboxPart.missing(summary.sandbox, pipeline.definition.sandbox) {
      Terminal.error(missing)
    }
    if summary.wasStopped || !summary.pausedLanes.isEmpty { return .temporary }
    return report.isClean ? .success : .incomplete
  }

  /// - Parameter manifest: a path, or `-` for standard input.
  private static func reader(of manifest: String) throws -> ManifestReader {
    let isInput = manifest == "-"
    let descriptor = isInput ? dup(STDIN_FILENO) : open(manifest, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      throw CommandError.usage(
        "\(manifest): \(String(cString: strerror(errno))); give the manifest's path, or - for standard input")
    }
    return try ManifestReader(descriptor, name: isInput ? "standard input" : manifest)
  }
}
