import Control
import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Manifest
import Objects
import Pipeline
import Platform
import Scheduler
import Workers

/// `sluice ingest`: queues files, works until the queue is empty, and reports the results.
struct Ingest: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "ingest", abstract: "Queue files and work until the queue is empty.", arguments: "PATH…",
    discussion: """
      Folders are walked. A link is fetched, where the pipeline has a lane for downloads. What an interrupted run left is
      finished too; a file that is known under the same message is not taken in again. A manifest has a JSON object a
      line: path, and optionally
      \(Help.wrapped(IntakeItem.keys.dropFirst().joined(separator: " ") + ";"))
      paths are relative to the current folder.
      """,
    options: [
      .config, .trust, .home,
    ] + IntakeArguments.options + [
      CommandOption(
        name: "wait-deliveries", value: "5m",
        help:
          "Wait so long for deliveries that are scheduled for later; else they are left, with exit code 75."),
      CommandOption(
        name: "dry-run",
        help: "Say what would be taken in, and what the pipeline would say of it; record nothing."),
      CommandOption(
        name: "again",
        help: "Validate what is named anew, also what is known: completed, rejected, or deleted since."),
      CommandOption(
        name: "at-least", value: "N",
        help: "End with 1 where fewer than so many files are found, as in a folder whose disk is not mounted."
      ),
      CommandOption(
        name: "expect-home", help: "End with 78 where the home has no ledger, and make no new one."),
      CommandOption(
        name: "limit", value: "N", help: "Take in at most so many new files, and say whether there are more."),
      .format, .quiet, .verbose, .noColor,
    ],
    example: "sluice ingest --conversation c1 --sender anna --participants anna,ben inbox/")

  private let arguments: ParsedArguments
  /// As the user called it.
  private let command: String
  private let input: IntakeArguments
  /// How long to wait for deliveries that are scheduled, in milliseconds.
  private let deliveryPatience: Int64
  /// How many new files to take in; `nil`: all.
  private let limit: Int64?
  /// How many files there are to be.
  private let atLeast: Int64
  /// After how many milliseconds it stops, as a signal would have it; `nil`: it does not.
  private let timeout: Int64?

  init(_ arguments: ParsedArguments) throws(CommandError) { try self.init(arguments, of: "ingest") }

  /// - Parameter command: as the user called it.
  init(_ arguments: ParsedArguments, of command: String) throws(CommandError) {
    (self.arguments, self.command) = (arguments, command)
    input = try IntakeArguments(arguments, of: command)
    deliveryPatience = try arguments.duration("wait-deliveries") ?? 0
    limit = try arguments.integer("limit")
    timeout = try arguments.duration("timeout")
    atLeast = try arguments.integer("at-least") ?? 0
    for (name, number) in [("limit", limit), ("at-least", try arguments.integer("at-least"))] {
      if let number, number < 1 { throw .usage("option '--\(name)' is 1 or more, not \(number)") }
    }
  }

  /// With the key that tells links from each other. It is there by now.
  private func known(_ home: Home, _ pipeline: PipelineDefinition) throws -> any LedgerQueries {
    if pipeline.downloads == nil { return try home.reader() }
    return try home.reader { try HomeKey(home, $0, pipeline.secrets, tells: false) }
  }

  func run() throws -> ExitCode {
    let started = Clock.monotonic()
    let home = Environment.home(arguments)
    let file = try Environment.pipelineFile(arguments)
    let pipeline = try Environment.pipeline(file: file, home: home, isStart: true)
    let manifest = try input.reader()
    if arguments.flag("expect-home") && (Environment.lacksLedger(home) || home.hasEmptyLedger) {
      throw CommandError(
        .configuration,
        "\(home.path) has no ledger; is its disk mounted? Without --expect-home a new one is made there")
    }
    if arguments.flag("dry-run") {
      let dryRun = try DryRun(pipeline, home: home, limit: limit, manifest: manifest?.name, arguments)
      let outcome = try dryRun.run(input, manifest, home: home)
      return dryRun.hasMore || isEnough(dryRun.found) ? outcome : .incomplete
    }
    // Must run before any thread starts, so that all threads leave the signals to the scheduler.
    let signals = sluice_signalfd()
    if let timeout { _ = sluice_terminate_after(max(timeout, 1)) }
    try home.create()
    let lock = try Environment.lock(home)
    defer { withExtendedLifetime(lock) {} }
    let early = EarlyWorkers(
      pipeline.definition, digest: pipeline.digest, executable: pipeline.search.worker)
    let ledger = try Environment.join(home, pipeline.definition)
    try UploadFiles(home).sweep(ledger)
    defer { try? ledger.leave() }  // what it held is due again either way
    let before = try ledger.status()

    let intake = try Intake()
    let server = try ControlServer(home, intake: intake, bound: input.bound)
    server.works(with: pipeline.definition, file: PipelineMismatch.path(of: file), isResident: false)
    let problems = Mailbox<IntakeProblem>(capacity: 4096)
    let newFiles = try limit.map { NewFiles(try known(home, pipeline.definition), limit: $0) }
    var defaults = input.defaults
    // Who has links fetched by a command of their own asks for them.
    if command == Fetch.configuration.name, pipeline.definition.downloads?.prefetch != nil {
      defaults.priority = max(defaults.priority, TransferPriority.asked)
    }
    let walker = InputWalker(
      defaults: defaults, bound: input.bound, home: home,
      fetches: pipeline.definition.downloads != nil,
      send: { [isAgain = arguments.flag("again")] items in
        var admitted = newFiles?.admitted(items) ?? items
        if isAgain { for index in admitted.indices { admitted[index].isAgain = true } }
        return (admitted.isEmpty || intake.send(admitted)) && newFiles?.hasMore != true
      }, problem: { problems.send($0) })
    let paths = input.paths
    let walking = try Thread {
      if let manifest { walker.read(manifest) } else { walker.walk(paths) }
      intake.finish()
      problems.close()
    }
    let report = IngestReport(
      arguments, home, left: before.attachments.first { $0.status == .queued }?.count ?? 0,
      manifest: manifest?.name, problems: problems, ask: { intake.askForWorkers() })
    let summary: SchedulerSummary
    do {
      let scheduler = try Scheduler(
        pipeline.definition, digest: pipeline.digest, home: home, lock: lock, ledger: ledger,
        executable: pipeline.search.worker, signals: signals >= 0 ? signals : nil, intake: intake,
        early: early)
      summary = try scheduler.run(deliveryPatience: deliveryPatience) { event in
        if case .answered(let results, let ticket) = event { server.answer(ticket, results) }
        if case .atWork(let workers) = event { server.tell(workers) }
        report.take(event)
      }
    } catch {
      report.clear()
      server.stop()
      walking.detach()
      throw error
    }
    server.stop()
    // After a signal the walker may still be waiting for the next line of a manifest.
    if summary.wasStopped { walking.detach() } else { walking.join() }
    let left = try ledger.status()
    let owed = OwedDeliveries(left, pipeline.definition)
    report.finish(
      summary, home: home, seconds: Double(Clock.monotonic() - started) / 1e9, left: left, owed: owed,
      hasMore: newFiles?.hasMore ?? false)
    if let missing = SandboxPart.missing(summary.sandbox, pipeline.definition.sandbox) {
      Terminal.error(missing)
    }
    let unfetched = left.unfetched(by: pipeline.definition)
    if let unfetched { Terminal.error(unfetched) }
    if let notPrefetched = left.notPrefetched { Terminal.error(notPrefetched) }
    let isToBeContinued =
      unfetched != nil || summary.wasStopped || !summary.pausedLanes.isEmpty || !summary.awaitedPlaces.isEmpty
      || owed.count > 0
    if isToBeContinued { return .temporary }
    let isEnough = summary.wasStopped || newFiles?.hasMore == true || isEnough(report.found)
    return isEnough && report.isClean ? .success : .incomplete
  }

  /// Tells where fewer files were found than are to be.
  private func isEnough(_ found: Int64) -> Bool {
    if found >= atLeast { return true }
    Terminal.error(
      "\(Count.text(found, "file")) found, and --at-least says \(atLeast); is each folder there, and its disk mounted?"
    )
    return false
  }
}
