import Control
import CPlatform
import FrontDoor
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Objects
import Platform
import Scheduler

/// `sluice run`: works the queue until it is told to stop.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "run", abstract: "Work the queue until told to stop, and take in what others enqueue.",
    discussion: """
      It has the home to itself; `sluice enqueue` hands it files from other processes, at once. What waits for later is
      done when it is due, and a lane that stopped is tried again after 30 seconds. SIGTERM or SIGINT ends what is in
      hand and then the program, with exit code 0; a second one ends it at once, which loses nothing. SIGHUP has
      it read pipeline.yaml again: a good one holds for what begins after it, a faulty one is told and not used.
      """,
    options: options,
    example: "sluice run --home /var/lib/sluice --config /etc/sluice/pipeline.yaml")

  static let options: [CommandOption] =
    [.config, .trust, .home] + WatchArguments.options + [
      IntakeBound.option, .format, .quiet, .verbose, .noColor,
    ]

  private let arguments: ParsedArguments
  private let watching: WatchArguments
  private let bound: IntakeBound?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    if let word = arguments.words.first {
      throw .usage(
        "this takes no '\(word)'; `sluice enqueue` hands it files, and --watch DIR takes those of a folder"
      )
    }
    watching = try WatchArguments(arguments)
    bound = try IntakeBound(arguments)
  }

  func run() throws -> ExitCode { try run(nil) }

  /// - Parameter entrance: the way in over HTTP, where there is to be one. Then no pipeline.yaml is needed.
  func run(_ entrance: Entrance?) throws -> ExitCode {
    let started = Clock.monotonic()
    let home = Environment.home(arguments)
    let file = try Environment.pipelineFile(arguments, mayBeBuiltIn: entrance != nil)
    let pipeline = try Environment.pipeline(file: file, home: home, isStart: true)
    let (roots, consumption) = try watching.resolved(pipeline.definition, home)
    try entrance?.prepare(home, pipeline, file: file)
    // Must run before any thread starts, so that all threads leave the signals to the scheduler.
    let signals = sluice_signalfd()
    let manager = ServiceManager()
    try home.create()
    let lock = try Environment.lock(home)
    Terminal.beginLog()
    defer { withExtendedLifetime(lock) {} }
    let ledger = try Environment.join(home, pipeline.definition)
    try UploadFiles(home).sweep(ledger)
    let queued = try ledger.status().attachments.first { $0.status == .queued }?.count ?? 0

    let intake = try Intake(isKept: true)
    let problems = Mailbox<IntakeProblem>(capacity: 4096)
    let report = IngestReport(arguments, home, isResident: true, left: queued, problems: problems)
    var watch: InboxWatch?
    var watchThread: Thread?
    if !roots.isEmpty {
      let inbox = try InboxWatch(
        roots, watching, consumption: consumption, home: home, send: { intake.send($0) },
        problem: { problems.send($0) })
      (watch, watchThread) = (inbox, try Thread { inbox.run() })
    }
    let server = try ControlServer(home, intake: intake, bound: bound)
    let front: FrontDoor?
    let doors: ClamdDoors?
    do {
      front = try entrance?.open(home, pipeline, intake)
      doors = try front.flatMap { try entrance?.openDoors(home, pipeline, $0) }
    } catch {
      server.stop()
      throw error
    }
    let late = LateCommands {
      try CommandDesk(home, holding: lock) { try Environment.join(home, pipeline.definition) }
    }
    /// Tells that the program is ending. New connections are refused, in place of waiting.
    func drain() {
      manager.stopping()
      entrance?.close()
      doors?.drain()
      front?.drain()
    }
    func stop() {
      drain()
      // Threads that find files wait for nothing then, and requests under way end as if the scheduler still worked.
      intake.close { commands, ticket in
        guard let results = late.apply(commands) else { return false }
        server.answer(ticket, results)
        front?.answer(ticket, results)
        doors?.answer(ticket)
        return true
      }
      if front != nil { heedAnother(signals) }
      front?.end()
      doors?.stop()
      front?.stop()
      server.stop()
      watch?.stop()
      problems.close()
      watchThread?.join()
      late.end()
    }
    /// Called once the loop turns: stages, ledger and store are open by then.
    func tellThatItWorks() {
      if arguments.flag("quiet") { return }
      Terminal.error(
        "process \(getpid()) works the queue of \(home.path) until SIGTERM"
          + (watching.folders.isEmpty ? "" : ", and watches \(watching.folders.joined(separator: ", "))"))
    }
    let reload = PipelineReload(file: file, home: home, intake: intake, doors: entrance?.doorRules ?? [])
    // A terminal that is closed sends SIGHUP, too.
    let hasTerminal = Terminal.isTerminal(STDERR_FILENO)
    let resident = Resident(
      home: home, lock: lock, ledger: ledger, signals: signals >= 0 ? signals : nil, intake: intake,
      reload: reload, tellsSteps: front != nil
    ) {
      server.works(with: $0.definition, file: PipelineMismatch.path(of: file), isResident: true)
      if let front { entrance?.follow($0, front, doors) }
    }
    var (isWorking, isReady) = (false, false)
    let summary: SchedulerSummary
    do {
      summary = try resident.work(pipeline) { event in
        if case .answered(let results, let ticket) = event {
          server.answer(ticket, results)
          front?.answer(ticket, results)
          doors?.answer(ticket)
        }
        if case .noRoom(let ticket) = event {
          server.foundNoRoom(ticket)
          front?.foundNoRoom(ticket)
          doors?.foundNoRoom(ticket)
        }
        if case .atWork(let workers) = event { server.tell(workers) }
        if case .stopping(_, _, _, _?) = event { drain() }
        if case .tick = event {
          if !isWorking {
            isWorking = true
            tellThatItWorks()
          }
          if !isReady && front?.isServing ?? true {
            isReady = true
            manager.ready()
          }
          manager.beat(at: Clock.monotonic())
        }
        if case .steps(let attachment, let steps) = event { front?.passed(attachment, steps) }
        if case .downloads(let downloads) = event { front?.fetching(downloads) }
        if case .ended(let record) = event { front?.ended(record) }
        if case .ended(let record) = event, record.outcome.status == .completed {
          watch?.completed(record.source)
        }
        if case .hangup = event {
          if hasTerminal { kill(getpid(), SIGTERM) } else { reload.begin() }
        }
        report.take(event)
      }
    } catch {
      report.clear()
      stop()
      throw error
    }
    stop()
    let left = try home.reader().status()
    report.finish(
      summary, home: home, seconds: Double(Clock.monotonic() - started) / 1e9, left: left,
      owed: OwedDeliveries(left, resident.pipeline?.definition ?? pipeline.definition))
    return .success
  }

  /// Ends the program where a second signal comes while connections end; the scheduler, which did so before, has ended.
  private func heedAnother(_ signals: Int32) {
    let thread = try? Thread {
      while true {
        var one = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
        poll(&one, 1, -1)
        let number = sluice_signal_take(signals)
        if number == SIGINT || number == SIGTERM { _exit(128 + number) }
        if one.revents & Int16(POLLNVAL) != 0 { return }
      }
    }
    // Without it, the connections have their few seconds.
    thread?.detach()
  }
}
