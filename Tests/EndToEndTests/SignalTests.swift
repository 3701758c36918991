import Foundation
import Testing

/// SIGINT and SIGTERM: after the first, work in hand is finished; after the second, the program exits at
/// once. Nothing is lost either way.
@Suite(.serialized)
struct SignalTests {
  @Test(arguments: [SIGINT, SIGTERM])
  func oneSignalLetsWhatIsInHandEndAndTheNextRunFinishesTheRest(signal: Int32) throws {
    let inbox = try inbox(files: 1500)
    let underway = try inbox.start()
    try waitForResults(inbox)
    kill(underway.process.processIdentifier, signal)
    let run = try underway.end(within: 20)
    #expect(!run.outcome.wasKilled)
    #expect(run.outcome.status == 75)
    try Inbox.expectNoWorkers(of: run.pid)

    let ended = run.outcome.attachments.count
    #expect(ended > 0 && ended < 1500, "\(ended) of 1500 have ended")
    #expect(try run.outcome.summary.total == ended, "it ends with its summary")
    let queued = try #require(try inbox.ledger("SELECT count(*) FROM attachments WHERE status = 'queued'"))
    #expect(
      run.outcome.err.contains(
        "stopped; \(queued) attachments are left in the queue"), "\(run.outcome.err)")
    #expect(
      run.outcome.err.contains(": run the same command again to go on"),
      "\(run.outcome.err)")
    #expect(try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'leased'") == "0", "nothing is in hand")
    #expect(
      try inbox.ledger("SELECT count(*) FROM attachments WHERE status = 'completed'") == "\(ended)",
      "what was said is what is on record")
    try finish(inbox, files: 1500)
  }

  /// Several pieces of work are queued in one worker.
  @Test func whatAWorkerHasNotBegunIsNotWaitedFor() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s", more: "workers: 1")
    for number in 0..<8 { try inbox.add("slow-\(number)", "misbehave dawdle\n") }
    let underway = try inbox.start()
    try inbox.waitForWork()
    usleep(600_000)
    kill(underway.process.processIdentifier, SIGTERM)
    let run = try underway.end()
    #expect(run.outcome.status == 75, "\(run.outcome.err)")
    let isLeft = try inbox.ledger("SELECT count(*) < 8 FROM attachments WHERE status = 'completed'")
    #expect(isLeft == "1", "each takes a second, and one was begun")
    #expect(try inbox.run().outcome.status == 0)
    #expect(try inbox.ledger("SELECT count(*) FROM attachments WHERE status = 'completed'") == "8")
  }

  @Test func whatIsInHandWhenTheSignalComesEndsAndIsNotBegunAgain() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    try inbox.add("slow", "misbehave linger\n")
    let underway = try inbox.start()
    try inbox.waitForWork()
    usleep(200_000)
    kill(underway.process.processIdentifier, SIGINT)
    let run = try underway.end(within: 10)
    #expect(run.outcome.status == 75)
    #expect(try run.record("slow").status == "completed", "\(run.outcome.err)")
    #expect(run.outcome.err.contains("stopped; 0 attachments are left in the queue"), "\(run.outcome.err)")
    #expect(try inbox.ledger("SELECT max(number) FROM attempts") == "1")
    try Inbox.expectNoWorkers(of: run.pid)
    let next = try inbox.run()
    #expect(next.outcome.status == 0, "\(next.outcome.err)")
    #expect(next.outcome.attachments.isEmpty)
    try inbox.checkWhole(next)
  }

  /// A stage that never returns, and would have an hour for it.
  @Test func whatDoesNotEndInItsTimeStaysInTheQueue() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 60m", more: "workers: 1")
    for number in 0..<3 { try inbox.add("slow-\(number)", "misbehave sleep \(number)\n") }
    let underway = try inbox.start()
    try Resident.wait("the stage sleeps") {
      try SluiceCommand.run(["status", "--home", "home"], in: inbox.folder).out.contains(
        "the longest is misbehave")
    }
    kill(underway.process.processIdentifier, SIGTERM)
    let run = try underway.end(within: 60)
    #expect(run.outcome.status == 75 && !run.outcome.wasKilled, "\(run.outcome.err)")
    let told = run.outcome.err.split(separator: "\n").filter { $0.contains("have 20 s to end") }
    #expect(told.count == 1 && run.outcome.err.contains("did not end in that time"), "\(run.outcome.err)")
    #expect(try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'due'") == "3")
    // It is no fault of the attachment's.
    #expect(try inbox.ledger("SELECT sum(attempts - uncounted) + sum(crashes) FROM jobs") == "0")
    try Inbox.expectNoWorkers(of: run.pid)
  }

  @Test(arguments: [[SIGINT, SIGINT], [SIGTERM, SIGINT], [SIGINT, SIGTERM]])
  func twoSignalsEndItAtOnceAndTheNextRunFinishes(signals: [Int32]) throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 5m")
    try inbox.add("slow", "misbehave doze\n")
    try inbox.addNeighbours(20)
    let underway = try inbox.start()
    try Resident.wait("a stage works on the slow one alone") {
      let completed = "SELECT count(*) FROM attachments WHERE status = 'completed'"
      guard (try? inbox.ledger(completed)) == "20" else { return false }
      return try SluiceCommand.run(["status", "--home", "home"], in: inbox.folder).out.contains("misbehave")
    }
    kill(underway.process.processIdentifier, signals[0])
    usleep(50_000)
    #expect(underway.process.isRunning, "the first lets what is in hand end")
    kill(underway.process.processIdentifier, signals[1])
    let run = try underway.end(within: 60)
    #expect(!run.outcome.wasKilled, "it ends by itself, as shells expect")
    #expect(run.outcome.status == 128 + signals[1], "the second waits for nothing")
    try expectNoWorker(of: run.pid)
    let next = try inbox.run()
    #expect(next.outcome.status == 0, "\(next.outcome.err)")
    #expect(try inbox.ledger("SELECT count(*) FROM attachments WHERE status = 'completed'") == "21")
    try inbox.checkWhole(next)
  }

  @Test func aSignalThatComesWhileFilesAreStillBeingFoundLosesNone() throws {
    let inbox = try inbox(files: 1500)
    let underway = try inbox.start()
    try Resident.wait("the first are taken in") {
      (try? inbox.ledger("SELECT count(*) > 0 FROM jobs")) == "1"
    }
    kill(underway.process.processIdentifier, SIGTERM)
    let run = try underway.end(within: 20)
    #expect(run.outcome.status == 75, "\(run.outcome.err)")
    try Inbox.expectNoWorkers(of: run.pid)
    try finish(inbox, files: 1500)
  }

  // MARK: Setting up

  private func inbox(files: Int) throws -> Inbox {
    let inbox = try Inbox()
    try inbox.folder.write("pipeline.yaml", Pipelines.telling())
    for number in 0..<files { try inbox.add("file-\(number)", "the content of file \(number)\n") }
    return inbox
  }

  // MARK: Looking

  private func waitForResults(_ inbox: Inbox) throws {
    try Resident.wait("an attachment has ended") {
      (try? inbox.ledger("SELECT count(*) > 0 FROM attachments WHERE status = 'completed'")) == "1"
    }
  }

  /// A coordinator that exits at once does not wait for its workers, which it has killed before.
  private func expectNoWorker(of pid: Int32) throws {
    try Inbox.expectNoWorkers(of: pid)
  }

  private func finish(_ inbox: Inbox, files: Int) throws {
    let run = try inbox.run()
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    let sources = try (0..<files).map { number in
      let path = try #require(realpath("\(inbox.folder.path)/in/file-\(number)", nil))
      defer { free(path) }
      return String(cString: path)
    }
    try inbox.witness.checkCompleted(sources, recipients: ["ben"])
  }
}
