import Foundation
import Glibc
import Testing

/// Another program reads `sluice.db` while a coordinator works, as monitoring and backup scripts do: it opens the file, asks, and
/// closes it, every 50 ms. The last program that closes a ledger takes its log away, and SQLite's POSIX locks alone say that the
/// coordinator still has it open (https://sqlite.org/howtocorrupt.html, 2.2).
@Suite(.serialized)
struct OutsideReaderTests {
  private static let count = Soak.isOn ? 10_000 : 1_500
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for index in 0..<Self.count { try folder.write("in/\(index).txt", "note \(index)\n") }
  }

  @Test func anIngestLosesNothing() throws {
    let ingest = try SluiceCommand.start(
      ["ingest", "--home", "var", "--participants", "ann,ben", "--sender", "ann", "in"], in: folder,
      out: folder.path + "/out", err: folder.path + "/err")
    let reader = try Reader(folder)
    try watchLocks(of: ingest) { !ingest.isRunning }
    ingest.waitUntilExit()
    #expect(ingest.terminationStatus == 0)
    try check(reader)
  }

  @Test func aWatchedFolderLosesNothing() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/watched", withIntermediateDirectories: true)
    let resident = try Resident(
      folder, home: "var",
      options: [
        "--watch", "watched", "--quiet-for", "50ms", "--participants", "ann,ben", "--sender", "ann",
      ])
    let reader = try Reader(folder)
    for index in 0..<Self.count {
      try #require(rename("\(folder.path)/in/\(index).txt", "\(folder.path)/watched/\(index).txt") == 0)
    }
    try watchLocks(of: resident.process) { resident.ended.count >= Self.count }
    #expect(resident.stop() == 0)
    try check(reader, in: "watched")
  }

  @Test func aServerLosesNothing() throws {
    let served = try ServedHome(folder, home: "var")
    let token = try served.token("reader", "--role", "service")
    let reader = try Reader(folder)
    let command = try SluiceCommand.start(
      ["enqueue", "--home", "var", "--participants", "ann,ben", "--sender", "ann", "in"], in: folder,
      out: folder.path + "/out", err: folder.path + "/err")
    try watchLocks(pid: served.coordinator) {
      // Each request has a reader of the ledger in the coordinator.
      _ = try served.ask("GET", "/v1/attachments", token: token)
      return try !command.isRunning && completed() >= Self.count
    }
    #expect(command.terminationStatus == 0)
    #expect(served.stop() == 0)
    try check(reader)
  }

  // MARK: Rules

  private func completed() throws -> Int {
    let status = try SluiceCommand.run(["status", "--home", "var", "--format", "json"], in: folder)
    return try status.only(Printed.Status.self).attachments["completed"]?.count ?? 0
  }

  private func watchLocks(of process: Process, until isDone: () throws -> Bool) throws {
    try watchLocks(pid: process.processIdentifier, until: isDone)
  }

  /// The coordinator has a lock on the ledger's file for as long as it works.
  private func watchLocks(pid: pid_t, until isDone: () throws -> Bool) throws {
    var facts = stat()
    let end = Date().addingTimeInterval(600)
    // One that ends has closed its ledger a moment before: locks that were cancelled stay away.
    var (looks, misses) = (0, 0)
    while try !isDone() {
      try #require(Date() < end)
      usleep(20_000)
      guard stat(folder.path + "/var/sluice.db-wal", &facts) == 0, facts.st_size > 0,
        stat(folder.path + "/var/sluice.db", &facts) == 0
      else { continue }
      let table = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
      let isLocked = table.split(separator: "\n").contains {
        $0.contains(" POSIX ") && $0.contains(" \(pid) ") && $0.contains(":\(facts.st_ino) ")
      }
      misses = isLocked || looks == 0 ? 0 : misses + 1
      if try misses >= 20 && !isDone() {
        Issue.record("the coordinator has no lock on its ledger: \(table)")
        return
      }
      if isLocked { looks += 1 }
    }
    #expect(looks > 0)
  }

  private func check(_ reader: Reader, in name: String = "in") throws {
    #expect(reader.stop() > 0, "it has read")
    let sources = (0..<Self.count).map { "\(folder.path)/\(name)/\($0).txt" }
    let faults = try Witness(folder: folder).checkCompleted(sources, recipients: ["ben"])
    Soak.row("another program reads the ledger", tries: 1, failures: faults)
    let verified = try SluiceCommand.run(["verify", "--home", "var"], in: folder)
    #expect(verified.status == 0, "\(verified.out)\(verified.err)")
  }

  /// A program that opens the ledger, reads and closes it, again and again.
  private final class Reader {
    private let process: Process
    private let out: String

    init(_ folder: TemporaryFolder) throws {
      out = folder.path + "/.reads"
      let program = """
        import sqlite3, time
        while True:
            try:
                ledger = sqlite3.connect('var/sluice.db', timeout=5)
                print(ledger.execute('SELECT count(*) FROM attachments').fetchone()[0], flush=True)
                ledger.close()
            except sqlite3.OperationalError:
                pass  # there is none yet
            time.sleep(0.05)
        """
      process = try SluiceCommand.start(
        ["-c", program], in: folder, out: out, err: folder.path + "/.reader-err", program: "/usr/bin/python3")
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// How often it has read.
    func stop() -> Int {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      return (FileManager.default.contents(atPath: out) ?? Data()).count { $0 == 0x0A }
    }
  }
}
