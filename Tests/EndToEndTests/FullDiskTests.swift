import Foundation
import Platform
import Testing

/// A full disk, in the store and under the ledger: nothing is lost, and the same command continues.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
struct FullDiskTests {
  @Test func aFullStorePausesTheLaneAndTheSameCommandGoesOnWithMoreRoom() throws {
    let inbox = try Self.inbox(files: 60, bytes: 64 << 10)
    let disk = try SmallDisk(inbox.folder.path + "/home/store", size: "1m")
    let run = try inbox.run()
    try expectPaused(run, inbox)
    // Stored objects are complete: no partial object has a path, or waits for one.
    try inbox.checkStore()
    let completed = run.outcome.attachments.count
    #expect(completed > 0 && completed < 60, "\(completed) of 60 fit into 1 MiB")
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted })
    #expect(try run.outcome.summary.failed == 0)
    let left = 60 - completed
    #expect(try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'due'") == "\(left)")
    let blamed = try inbox.ledger("SELECT count(*) FROM jobs WHERE attempts > uncounted")
    #expect(blamed == "0", "no attachment is to blame")

    let still = try inbox.run()
    try expectPaused(still, inbox)

    try disk.grow(to: "16m")
    try expectWhole(try inbox.run(), inbox, files: 60)
  }

  @Test func aFullStoreGoesOnWhenAFileIsDeleted() throws {
    let inbox = try Self.inbox(files: 20, bytes: 20_000)
    let disk = try SmallDisk(inbox.folder.path + "/home/store", size: "2m")
    try disk.fill("filler")
    let run = try inbox.run()
    try expectPaused(run, inbox)
    #expect(run.outcome.attachments.isEmpty)
    try FileManager.default.removeItem(atPath: disk.path + "/filler")
    try expectWhole(try inbox.run(), inbox, files: 20)
  }

  @Test func aFullLedgerEndsTheRunAndTheNextGoesOn() throws {
    let inbox = try Self.inbox(files: 800, bytes: 20)
    let disk = try SmallDisk(inbox.folder.path + "/home", size: "4m")
    // The store has room, but the ledger does not.
    let store = try SmallDisk(disk.path + "/store", size: "64m")
    defer { withExtendedLifetime((store, disk)) {} }
    let run = try inbox.run()
    #expect(run.outcome.status == 75, "\(run.outcome.err)")
    #expect(run.outcome.err.contains("sluice.db: no room on the disk; make room, then run again"))
    try Inbox.expectNoWorkers(of: run.pid)

    // Not even room to open it: the reserve was released in the first run.
    try disk.fill("filler")
    for _ in 0..<2 {
      let still = try inbox.run()
      #expect(still.outcome.status == 75, "\(still.outcome.err)")
      #expect(still.outcome.err.contains("no room on the disk; make room, then run again"))
    }
    let status = try SluiceCommand.run(["status", "--home", "home"], in: inbox.folder)
    #expect(status.status == 0, "who is in want of room can look: \(status.err)")

    try FileManager.default.removeItem(atPath: disk.path + "/filler")
    try disk.grow(to: "64m")
    try expectWhole(try inbox.run(), inbox, files: 800)
  }

  @Test func aDiskThatFilledUpBetweenRunsLeavesTheLedgerItsReserve() throws {
    let inbox = try Self.inbox(files: 5, bytes: 20)
    let disk = try SmallDisk(inbox.folder.path + "/home", size: "4m")
    #expect(try inbox.run().outcome.status == 0)
    try disk.fill("filler")
    let run = try inbox.run()
    #expect(run.outcome.status == 0, "the ledger opens, and all is known: \(run.outcome.err)")
    try FileManager.default.removeItem(atPath: disk.path + "/filler")
    try expectWhole(try inbox.run(), inbox, files: 5)
  }

  @Test func aFullStandardOutputIsToldAndHoldsNothingUp() throws {
    let inbox = try Self.inbox(files: 30, bytes: 2000)
    let command =
      "'\(SluiceCommand.folder)/sluice' ingest --home home --participants ann,ben --sender ann in >/dev/full"
    let run = try SluiceCommand.run(["-c", command], in: inbox.folder, program: "/bin/sh")
    #expect(run.status == 1)
    #expect(
      run.err
        == "sluice: standard output: No space left on device; what was to be printed is not all there: run the "
        + "command again, or for an ingest `sluice list`\n")
    #expect(try inbox.ledger("SELECT attachments FROM counts WHERE status = 'completed'") == "30")
  }

  @Test func theLogOfAResidentGoesOnOnceItsDiskHasRoomAgain() throws {
    let inbox = try Self.inbox(files: 0, bytes: 0)
    let folder = inbox.folder
    let disk = try SmallDisk(folder.path + "/log", size: "64k")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/watched", withIntermediateDirectories: true)
    let run = try SluiceCommand.start(
      [
        "run", "--home", "home", "--watch", "watched", "--quiet-for", "100ms", "--participants", "ann",
        "--format", "json",
      ], in: folder, out: disk.path + "/out", err: folder.path + "/err")
    defer { if run.isRunning { kill(run.processIdentifier, SIGKILL) } }
    try disk.fill("filler")
    var number = 0
    try Resident.wait("it says that the log is full", seconds: 120) {
      number += 1
      try folder.write("watched/\(number).txt", "text \(number)\n")
      usleep(200_000)
      return try folder.read("err").contains("standard output: No space left on device; the work goes on")
    }
    try FileManager.default.removeItem(atPath: disk.path + "/filler")
    number += 1
    try folder.write("watched/\(number).txt", "the last\n")
    func told() throws -> Int {
      Printed.records(Printed.Attachment.self, in: try folder.read("log/out")).count
    }
    try Resident.wait("all are told", seconds: 60) { try told() >= number || !run.isRunning }
    #expect(try told() == number, "nothing is lost, and no line is cut")
    #expect(try folder.read("err").contains("standard output can be written again\n"))
    kill(run.processIdentifier, SIGTERM)
    run.waitUntilExit()
    #expect(run.terminationStatus == 0)
  }

  // MARK: Setting up

  /// Files that all differ, so that none is stored as a link to another.
  static func inbox(files: Int, bytes: Int) throws -> Inbox {
    let inbox = try Inbox()
    try inbox.folder.write("pipeline.yaml", Pipelines.telling())
    for number in 0..<files {
      let line = "line of file \(number)\n"
      try inbox.add("file-\(number)", String(repeating: line, count: max(bytes / line.utf8.count, 1)))
    }
    return inbox
  }

  // MARK: Looking

  private func expectPaused(_ run: Inbox.Run, _ inbox: Inbox) throws {
    #expect(run.outcome.status == 75)
    #expect(
      run.outcome.err.contains("attachments paused (disk-full: ")
        && run.outcome.err.contains("No space left on device; make room, then run again)")
        && run.outcome.err.contains("run the same command again to go on, nothing is lost"),
      "\(run.outcome.err)")
    let queued = Int(try inbox.ledger("SELECT count(*) FROM jobs") ?? "") ?? 0
    #expect(try run.outcome.summary.queued == queued)
    #expect(run.outcome.err.contains("\(queued) attachments are left in the queue"), "\(run.outcome.err)")
    try Inbox.expectNoWorkers(of: run.pid)
    let status = try SluiceCommand.run(["status", "--home", "home"], in: inbox.folder)
    #expect(status.out.contains("paused: disk-full"), "\(status.out)")
    #expect(try inbox.ledger("SELECT code FROM pauses") == "disk-full")
  }

  private func expectWhole(_ run: Inbox.Run, _ inbox: Inbox, files: Int) throws {
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    try Inbox.expectNoWorkers(of: run.pid)
    try Self.checkCompleted(inbox, files: files)
  }

  @discardableResult
  static func checkCompleted(_ inbox: Inbox, files: Int) throws -> Int {
    let sources = try (0..<files).map { number in
      let path = try #require(realpath("\(inbox.folder.path)/in/file-\(number)", nil))
      defer { free(path) }
      return String(cString: path)
    }
    return try inbox.witness.checkCompleted(sources, recipients: ["ben"])
  }
}

/// Disks that become full at successive moments: under the whole home, and under the store alone.
@Suite(
  .serialized, .enabled(if: Soak.isOn, Soak.skipped),
  .enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
struct FullDiskSoakTests {
  @Test(arguments: ["home", "home/store"])
  func nothingIsLostWhereverTheDiskIsFull(place: String) throws {
    var random = SplitMix(state: 11)
    var tries = 0
    var failures = 0
    while tries < 100 {
      let inbox = try FullDiskTests.inbox(files: 40, bytes: 20_000)
      // With less than 2.5 MiB there is no ledger at all; 40 objects take 1.
      let size =
        place == "home"
        ? Int.random(in: 1200...3800, using: &random) : Int.random(in: 4...900, using: &random)
      let disk = try SmallDisk("\(inbox.folder.path)/\(place)", size: "\(size)k")
      let run = try inbox.run()
      if run.outcome.status == 0 { continue }
      tries += 1
      #expect(run.outcome.status == 75, "\(size) KiB: \(run.outcome.status) \(run.outcome.err)")
      // Once more without room, then with.
      _ = try inbox.run()
      try disk.grow(to: "64m")
      let last = try inbox.run()
      #expect(last.outcome.status == 0, "\(size) KiB: \(last.outcome.err)")
      let wrong = try FullDiskTests.checkCompleted(inbox, files: 40)
      failures += wrong + (run.outcome.status == 75 && last.outcome.status == 0 ? 0 : 1)
    }
    Soak.row(
      "the disk is full: under the \(place == "home" ? "home" : "store")", tries: tries, failures: failures)
  }
}
