import Foundation
import SQLite
import Testing

/// A folder with attachments, a pipeline and a home, and the results of an ingest.
struct Inbox {
  let folder: TemporaryFolder
  /// The witness that records every run.
  var witness: Witness { Witness(folder: folder, home: "home") }

  /// Attachments lie in `in/`.
  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/in", withIntermediateDirectories: true)
  }

  /// A pipeline with the misbehaving stage and these further settings.
  func pipeline(
    _ settings: String..., retry: String = "{ attempts: 2, backoff: 10ms, max: 50ms }", more: String = ""
  )
    throws
  {
    try folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        """
        - use: misbehave
          memory: 64MB
          output: 16MB
        \(settings.map { "  \($0)" }.joined(separator: "\n"))
        """, more: "retry: \(retry)\n\(more)"))
  }

  @discardableResult
  func add(_ name: String, _ contents: String) throws -> String { try folder.write("in/" + name, contents) }

  /// Well-behaved attachments.
  func addNeighbours(_ count: Int) throws {
    for number in 0..<count { try add("neighbour-\(number)", "well-behaved \(number)\n") }
  }

  // MARK: Running

  struct Run {
    var outcome: SluiceCommand.Outcome
    /// The coordinator's pid.
    var pid: Int32

    /// The record of an attachment, by file name.
    func record(_ name: String) throws -> Printed.Attachment {
      try #require(outcome.attachments.first { $0.fileName == name }, "\(name): \(outcome.err)")
    }
    var neighbours: [Printed.Attachment] {
      outcome.attachments.filter { $0.fileName.hasPrefix("neighbour") }
    }
  }

  /// A started ingest.
  struct Underway {
    let process: Process
    let recording: Witness.Recording
    let out: String
    let err: String

    /// Waits for the end; fails if it does not come.
    ///
    /// - Parameter seconds: how long a slow machine takes for it. The test fails after ten times as long.
    func end(within seconds: Double = 60) throws -> Run {
      let deadline = Date(timeIntervalSinceNow: seconds * 10)
      while process.isRunning && Date() < deadline { usleep(5000) }
      if process.isRunning {
        Issue.record("the coordinator did not end within \(seconds) s")
        kill(process.processIdentifier, SIGKILL)
      }
      process.waitUntilExit()
      recording.end()
      return Run(
        outcome: SluiceCommand.Outcome(
          status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
          out: String(decoding: try Data(contentsOf: URL(fileURLWithPath: out)), as: UTF8.self),
          err: String(decoding: try Data(contentsOf: URL(fileURLWithPath: err)), as: UTF8.self)),
        pid: process.processIdentifier)
    }
  }

  func start(
    _ paths: [String] = ["in"], options: [String] = [], input: String = "",
    environment: [String: String] = [:]
  ) throws -> Underway {
    let name = UUID().uuidString
    let out = folder.path + "/.out-\(name)"
    let err = folder.path + "/.err-\(name)"
    let recording = try witness.record(to: out)
    let standard = [("--home", "home"), ("--sender", "ann"), ("--participants", "ann,ben")]
      .filter { !options.contains($0.0) }
    let process = try SluiceCommand.start(
      ["ingest", "--format", "json"] + standard.flatMap { [$0.0, $0.1] } + options + paths, in: folder,
      out: out, err: err, input: input,
      environment: environment.merging(["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]) { given, _ in given
      },
      recording: recording)
    return Underway(process: process, recording: recording, out: out, err: err)
  }

  func run(
    _ paths: [String] = ["in"], options: [String] = [], input: String = "",
    environment: [String: String] = [:]
  ) throws -> Run {
    try start(paths, options: options, input: input, environment: environment).end()
  }

  // MARK: Looking

  /// The first value of a query of the ledger.
  func ledger(_ sql: String) throws -> String? {
    try Connection(folder.path + "/home/sluice.db", .readOnly).prepare(sql).first { $0.text(0) }
  }

  static func execute(_ sql: String, on file: String) throws {
    try Connection(file).execute(sql)
  }

  /// Waits until a query of the ledger returns this value.
  func wait(for sql: String, _ value: String = "1") throws {
    try Resident.wait("'\(sql)' gives \(value)") { (try? ledger(sql)) == value }
  }

  /// Waits until the ledger shows leased work.
  func waitForWork(_ count: Int = 1) throws {
    try Resident.wait("work was begun") {
      let leased = try? ledger("SELECT count(*) FROM jobs WHERE state = 'leased' AND kind = 'attachment'")
      return leased.flatMap { Int($0) } ?? 0 >= count
    }
  }

  /// A worker hears of the end of its coordinator, and ends.
  static func expectNoWorkers(of pid: pid_t) throws {
    try Resident.wait("no worker is left") { workers(of: pid).isEmpty }
  }

  /// Output, ledger and store agree, and no process is left.
  func checkWhole(_ run: Run) throws {
    #expect(!run.outcome.wasKilled, "the coordinator lives to say how it went: \(run.outcome.err)")
    try Self.expectNoWorkers(of: run.pid)
    #expect(try ledger("SELECT count(*) FROM jobs") == "0")
    #expect(try ledger("PRAGMA integrity_check") == "ok")
    #expect(try ledger("SELECT count(*) FROM attachments WHERE status = 'queued'") == "0")
    for record in run.outcome.attachments {
      let row = "FROM attachments WHERE id = '\(record.id)'"
      #expect(try ledger("SELECT status \(row)") == record.status)
      #expect(try ledger("SELECT coalesce(url, '-') \(row)") == record.url ?? "-")
      #expect(try ledger("SELECT lower(hex(sha256)) \(row)") == record.sha256 ?? "")
      #expect((record.url != nil) == record.isCompleted)
    }
    try checkStore()
  }

  /// Every object matches its row, and there is no other.
  func checkStore() throws {
    var rows: [String: String] = [:]
    let query =
      "SELECT url, lower(hex(sha256)), size_bytes FROM attachments WHERE url IS NOT NULL"
      + " UNION SELECT url, lower(hex(sha256)), size_bytes FROM derived"
    let connection = try Connection(folder.path + "/home/sluice.db", .readOnly)
    try connection.prepare(query).rows { row in rows[row.text(0)] = "\(row.text(1)) \(row.integer(2))" }
    let stored = folder.files(below: "home/store")
    #expect(stored == rows.keys.sorted(), "no object without a row, no row without its object")
    for path in stored {
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/home/store/\(path)"))
      #expect(rows[path] == "\(try Self.sha256(data)) \(data.count)", "\(path) is what its row says")
    }
  }

  static func sha256(_ data: Data) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    DispatchQueue.global().async {
      input.fileHandleForWriting.write(data)
      try? input.fileHandleForWriting.close()
    }
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(String(decoding: text, as: UTF8.self).prefix(64))
  }

  /// The workers of a coordinator, even of an ended one: its pid is among their arguments.
  static func workers(of coordinator: Int32) -> [Int32] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    // Read with read(2): Foundation does not free the memory it uses for a long file of /proc, and this is
    // called often.
    var room = [UInt8](repeating: 0, count: 4096)
    return entries.compactMap { Int32($0) }.filter { pid in
      let file = open("/proc/\(pid)/cmdline", O_RDONLY | O_CLOEXEC)
      if file < 0 { return false }
      defer { close(file) }
      let count = read(file, &room, room.count)
      let words = room.prefix(max(count, 0)).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      return words.first?.hasSuffix("/sluice-worker") == true && words.last == "\(coordinator)"
    }
  }
}
