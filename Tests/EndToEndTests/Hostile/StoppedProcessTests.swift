import Foundation
import Platform
import Testing

/// Processes stopped with SIGSTOP beyond every limit, and continued. Finished work is not repeated, and work
/// in hand ends once.
@Suite(.serialized)
struct StoppedProcessTests {
  /// Continued around the end of its time limit, so that its answer and its end may cross.
  @Test(arguments: [-300, -20, 0, 20, 40, 400])
  func aWorkerThatIsStoppedPastItsLimitAndContinuedAnswersOnceOrNever(milliseconds: Int) throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 600ms", more: "workers: 1")
    // On a slow machine the first may have ended before it is found.
    for number in 0..<10 { try inbox.add("a-\(number)", "misbehave rest\n") }
    let underway = try inbox.start()
    try inbox.waitForWork()
    guard let worker = busyWorker(of: underway.process.processIdentifier) else {
      Issue.record("no worker was at work")
      return
    }
    kill(worker, SIGSTOP)
    // Its time limit ended 600 ms after it began, a few milliseconds ago.
    usleep(UInt32(600 + milliseconds) * 1000)
    kill(worker, SIGCONT)
    let run = try underway.end(within: 30)
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted }, "\(run.outcome.out) \(run.outcome.err)")
    let attempts = try inbox.ledger("SELECT max(number) FROM attempts")
    #expect(attempts == "1" || (attempts == "2" && milliseconds > -300))
    try inbox.checkWhole(run)
    let sources = (0..<10).map { "\(inbox.folder.path)/in/a-\($0)" }
    try inbox.witness.checkCompleted(sources, recipients: ["ben"])
  }

  @Test func workersThatAreStoppedAgainAndAgainChangeNothing() throws {
    try Stopping(seed: 1, files: 1200).run()
  }

  @Test func aStoppedCoordinatorKeepsItsHomeAndLosesNothing() throws {
    try StoppedCoordinator(after: 80_000, withWorkers: false).run()
  }

  /// As with `docker pause`.
  @Test func aCoordinatorThatIsStoppedWithItsWorkersBlamesNobody() throws {
    try StoppedCoordinator(after: 50_000, withWorkers: true).run()
  }

  @Test func aCoordinatorThatIsKilledWhileItIsStoppedIsSucceededAtOnce() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 5s")
    for number in 0..<8 { try inbox.add("a-rest-\(number)", "misbehave rest\n") }
    try inbox.addNeighbours(100)
    let underway = try inbox.start()
    try inbox.waitForWork()
    try Resident.suspend(underway.process.processIdentifier)
    kill(underway.process.processIdentifier, SIGKILL)
    let killed = try underway.end()
    #expect(killed.outcome.wasKilled)
    let run = try inbox.start().end(within: 20)
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    try inbox.checkWhole(run)
    #expect(try inbox.ledger("SELECT count(*) FROM attachments WHERE status = 'completed'") == "108")
  }

  /// The worker that sleeps in the stage, with its library loaded.
  private func busyWorker(of coordinator: Int32) -> Int32? {
    for _ in 0..<60_000 {
      let found = Inbox.workers(of: coordinator).first { pid in
        let standing = WorkerStanding(of: pid)
        return standing.hasLoaded("libsluice-misbehave") && WorkerStanding.sleepsInClock(pid)
      }
      if let found { return found }
      usleep(1000)
    }
    return nil
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct StoppedProcessSoakTests {
  @Test(arguments: 2...11)
  func workersThatAreStoppedAThousandTimesChangeNothing(seed: Int) throws {
    try Stopping(seed: UInt64(seed), files: 3000).run()
  }

  @Test(arguments: 0..<10)
  func aCoordinatorThatIsStoppedAtAnyMomentLosesNothing(round: Int) throws {
    try StoppedCoordinator(after: UInt32(round) * 30_000, withWorkers: round % 2 == 1).run()
  }
}

/// Stops random workers at random moments, for as long as their limit and longer.
private struct Stopping {
  var seed: UInt64
  var files: Int

  func run() throws {
    var random = SplitMix(state: seed)
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
          timeout: 150ms
        - use: store
          options: { path: "{attachmentId}.{extension}" }
          timeout: 150ms
        - use: notify
          options: { to: participants, channels: [events] }
          timeout: 150ms
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      retry: { attempts: 50, backoff: 10ms, max: 50ms }
      """)
    for number in 0..<files { try inbox.add("file-\(number)", "the text of file \(number)\n") }
    let underway = try inbox.start()
    var stops = 0
    while underway.process.isRunning {
      let workers = Inbox.workers(of: underway.process.processIdentifier)
      if let worker = workers.randomElement(using: &random), kill(worker, SIGSTOP) == 0 {
        stops += 1
        // The time limit of a store's barrier is the sum of the limits of the waiting attachments.
        usleep(UInt32.random(in: 0...400_000, using: &random))
        kill(worker, SIGCONT)
      }
      usleep(UInt32.random(in: 0...20_000, using: &random))
    }
    let run = try underway.end()
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    #expect(stops > 2)
    try inbox.checkWhole(run)
    let sources = (0..<files).map { "\(inbox.folder.path)/in/file-\($0)" }
    let wrong = try inbox.witness.checkCompleted(sources, recipients: ["ben"])
    Soak.row("a worker is stopped and continued", tries: stops, failures: wrong)
  }
}

/// Stops a coordinator for longer than its stages' time limits, with or without its workers; meanwhile a
/// second coordinator asks for the home.
private struct StoppedCoordinator {
  /// Microseconds from the first claim.
  var after: UInt32
  var withWorkers: Bool

  func run() throws {
    let inbox = try Inbox()
    // A worker has the time limits of all its stages together before it counts as silent.
    try inbox.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
          timeout: 500ms
          on-timeout: reject
        - use: misbehave
          timeout: 1s
          on-timeout: reject
        - use: store
          options: { path: "{attachmentId}.{extension}" }
        - use: notify
          options: { to: participants, channels: [events] }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      """)
    for number in 0..<8 { try inbox.add("a-rest-\(number)", "misbehave rest\n") }
    try inbox.addNeighbours(200)
    let underway = try inbox.start()
    try inbox.waitForWork()
    usleep(after)
    let coordinator = underway.process.processIdentifier
    try Resident.suspend(coordinator)
    let workers = withWorkers ? Inbox.workers(of: coordinator) : []
    for worker in workers { kill(worker, SIGSTOP) }
    let stopped = Date()
    // The witness does not get its output, because it is no coordinator.
    let second = try SluiceCommand.run(
      ["ingest", "--home", "home", "in"], in: inbox.folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(second.status == 75)
    #expect(
      second.err.contains("is in use by another sluice (process \(coordinator))"), "\(second.err)")
    for command in [["status"], ["list"]] {
      let outcome = try SluiceCommand.run(command + ["--home", "home"], in: inbox.folder)
      #expect(outcome.status == 0, "\(command): \(outcome.err)")
    }
    while Date().timeIntervalSince(stopped) < 2.2 { usleep(10_000) }
    kill(coordinator, SIGCONT)
    usleep(withWorkers ? 40_000 : 0)  // the coordinator checks its workers' time before they can answer
    for worker in workers { kill(worker, SIGCONT) }
    let run = try underway.end(within: 30)
    #expect(run.outcome.status == 0, "\(run.outcome.err) \(run.outcome.out.suffix(600))")
    #expect(run.outcome.attachments.count == 208)
    #expect(try inbox.ledger("SELECT max(number) FROM attempts") == "1", "nobody lost an attempt for it")
    try inbox.checkWhole(run)
    let sources = run.outcome.attachments.map(\.source)
    let wrong = try inbox.witness.checkCompleted(sources, recipients: ["ben"])
    Soak.row("a coordinator is stopped and continued", tries: 1, failures: wrong)
  }
}

extension WorkerStanding {
  /// Whether a process is in a timed sleep of its own.
  fileprivate static func sleepsInClock(_ pid: Int32) -> Bool {
    let text = FileManager.default.contents(atPath: "/proc/\(pid)/syscall") ?? Data()
    #if arch(x86_64)
      return text.starts(with: Data("230 ".utf8))  // clock_nanosleep
    #else
      return text.starts(with: Data("115 ".utf8))
    #endif
  }
}
