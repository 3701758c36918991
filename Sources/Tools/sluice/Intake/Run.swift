import CPlatform
import Control
import Glibc
import Ledger
import Platform
import Scheduler

/// `sluice run`: works the queue until it is told to stop.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "run", abstract: "Work the queue until told to stop, and take in what others enqueue.",
    discussion: """
      It has the home to itself; `sluice enqueue` hands it files from other processes, at once. What waits for later is
      done when it is due, and a lane that stopped is tried again after 30 seconds. SIGTERM or SIGINT ends what is in
      hand and then the program, with exit code 0; a second one ends it at once, which loses nothing. To read a changed
      pipeline.yaml, stop it and start it again.
      """,
    options: [.config, .home, .format, .quiet, .noColor],
    example: "sluice run --home /var/lib/sluice --config /etc/sluice/pipeline.yaml")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    if let word = arguments.words.first {
      throw .usage("`sluice run` takes no '\(word)'; `sluice enqueue` hands it files")
    }
  }

  func run() throws -> ExitCode {
    let started = Clock.monotonic()
    let home = Environment.home(arguments)
    let pipeline = try Environment.pipeline(file: Environment.pipelineFile(arguments), home: home)
    // Must run before any thread starts, so that all threads leave the signals to the scheduler.
    let signals = sluice_signalfd()
    try home.create()
    let lock = try home.lock()
    defer { withExtendedLifetime(lock) {} }
    let ledger = try home.join()
    defer { try? ledger.leave() }  // what it held is due again either way
    let queued = try ledger.status().attachments.first { $0.status == .queued }?.count ?? 0

    let intake = try Intake()
    let server = try ControlServer(home, intake: intake)
    let report = IngestReport(
      isJSON: arguments.value("format") == "json", isQuiet: arguments.flag("quiet"), isResident: true,
      left: queued,
      problems: Mailbox(capacity: 1))
    if !arguments.flag("quiet") {
      Terminal.error("process \(getpid()) works the queue of \(home.path) until SIGTERM")
    }
    let summary: SchedulerSummary
    do {
      let scheduler = try Scheduler(
        pipeline.definition, digest: pipeline.digest, home: home, lock: lock, ledger: ledger,
        executable: pipeline.search.worker, signals: signals >= 0 ? signals : nil, intake: intake)
      summary = try scheduler.run(isResident: true) { event in
        if case .answered(let results, let ticket) = event { server.answer(ticket, results) }
        report.take(event)
      }
    } catch {
      report.clear()
      server.stop()
      throw error
    }
    server.stop()
    let left = try ledger.status()
    report.finish(
      summary, home: home, seconds: Double(Clock.monotonic() - started) / 1e9, left: left,
      owed: OwedDeliveries(left, pipeline.definition))
    return .success
  }
}
