import Foundation
import Testing

/// `sluice watch`: changes as lines that can be gone on with, and a view that leaves the terminal as it was.
@Suite(.serialized)
struct WatchTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    try folder.write("in/a.txt", "a text\n")
    try folder.write("in/empty", "")
    try #require(try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", "in").status == 0)
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  /// A watch in the background, with its lines in a file.
  private final class Stream {
    let process: Process
    private let folder: TemporaryFolder
    private let name = "watch-\(UUID().uuidString)"

    init(_ folder: TemporaryFolder, _ words: String...) throws {
      self.folder = folder
      process = try SluiceCommand.start(
        ["watch", "--format", "json", "--home", "home"] + words, in: folder, out: folder.path + "/" + name,
        err: folder.path + "/" + name + ".err")
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    var allLines: [JSON] {
      get throws { try folder.read(name).split(separator: "\n").map { try JSON(String($0)) } }
    }

    /// Those of changes: what the workers do meanwhile depends on the time.
    var lines: [JSON] {
      get throws { try allLines.filter { $0["record"].text != "workers" } }
    }

    func wait(_ what: String, until condition: ([JSON]) -> Bool) throws {
      try Resident.wait(what) { condition(try self.lines) || !self.process.isRunning }
      let (now, err) = (try lines, (try? folder.read(name + ".err")) ?? "")
      try #require(condition(now), "\(now) \(err)")
    }

    func stop(_ signal: Int32 = SIGTERM) -> Int32 {
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private static func kinds(_ lines: [JSON]) -> [String] { lines.compactMap(\.["record"].text) }

  @Test func everyChangeIsALineWithItsRecord() throws {
    let stream = try Stream(folder)
    try stream.wait("the start") { Self.kinds($0) == ["start"] }
    try #require(try sluice("ingest", "in").status == 1)
    try stream.wait("the ends") { lines in
      lines.count { $0["record"].text == "attachment" } == 2
        && lines.count { $0["record"].text == "delivery" } == 2
    }
    try sluice("pause", "attachments", "--reason", "moving")
    try stream.wait("the pause") { $0.last?["record"].text == "lane" }
    let records = try sluice("list", "--format", "json").attachments
    try sluice("delete", records[0].id)
    try stream.wait("the deletion") { $0.last?["record"].text == "deletion" }
    let lines = try stream.lines
    let completed = try #require(lines.first { $0["fileName"].text == "a.txt" })
    #expect(
      completed["status"].text == "completed" && completed["url"].text != nil && completed["id"].text != nil)
    let delivery = try #require(lines.first { $0["record"].text == "delivery" })
    #expect(
      delivery["status"].text == "delivered" && delivery["recipient"].text == "ben"
        && delivery["channel"].text == "events")
    let lane = try #require(lines.first { $0["record"].text == "lane" })
    #expect(lane["name"].text == "attachments" && lane["paused"]["reason"].text == "moving")
    #expect(lines.last?["id"].text == records[0].id && lines.last?["deletedAt"].text?.hasSuffix("Z") == true)
    #expect(lines.allSatisfy { $0["position"].text?.isEmpty == false })
    #expect(stream.stop(SIGINT) == 0)
  }

  @Test func aWatchGoesOnFromAPosition() throws {
    let start = try Stream(folder)
    try start.wait("the start") { !$0.isEmpty }
    let position = try #require(try start.lines[0]["position"].text)
    #expect(start.stop() == 0)
    for lane in ["attachments", "channel:none"] { try sluice("pause", lane) }
    try sluice("resume", "attachments")
    let all = try Stream(folder, "--since", position)
    try all.wait("both changes") { $0.count == 2 }
    #expect(Self.kinds(try all.lines) == ["lane", "lane"])
    let first = try #require(try all.lines[0]["position"].text)
    let rest = try Stream(folder, "--since", first)
    try rest.wait("the second change") { $0.count == 1 }
    #expect(try rest.lines[0] == all.lines[1])
    #expect(first != position && all.stop() == 0 && rest.stop() == 0)
  }

  /// All that one transaction changed comes again until all of it was printed.
  @Test func nothingIsLostWithinATransaction() throws {
    let start = try Stream(folder)
    try start.wait("the start") { !$0.isEmpty }
    let position = try #require(try start.lines[0]["position"].text)
    #expect(start.stop() == 0)
    try #require(try sluice("cancel", "--status", "queued").status == 0)
    try folder.write("in/b.txt", "b\n")
    try folder.write("in/c.txt", "c\n")
    try #require(try sluice("enqueue", "in/b.txt", "in/c.txt").status == 0)
    let all = try Stream(folder, "--since", position)
    try all.wait("both files") { $0.count >= 2 }
    let lines = try all.lines
    #expect(lines.suffix(2).map(\.["fileName"].text) == ["b.txt", "c.txt"])
    let again = try Stream(folder, "--since", try #require(lines[lines.count - 2]["position"].text))
    try again.wait("the same two") { $0.count == 2 }
    #expect(try again.lines == Array(lines.suffix(2)))
    #expect(all.stop() == 0 && again.stop() == 0)
  }

  @Test func aPlaceThatIsNotInTheStreamIsSaid() throws {
    let stream = try Stream(folder, "--since", "5-1")
    try stream.wait("the restart") { $0.first?["record"].text == "restart" }
    let line = try stream.lines[0]
    #expect(
      line["code"].text == "another-history"
        && line["message"].text?.contains("`sluice list --format json`") == true)
    try sluice("pause", "attachments")
    try stream.wait("what comes then") { $0.last?["record"].text == "lane" }
    #expect(stream.stop() == 0)
    let here = try #require(line["position"].text)
    try sluice("resume", "attachments")
    try Inbox.execute(
      "DELETE FROM changes WHERE number <= (SELECT max(number) FROM changes) - 1",
      on: folder.path + "/home/sluice.db")
    let old = try Stream(folder, "--since", here)
    try old.wait("the restart") { $0.first?["record"].text == "restart" }
    #expect(try old.lines[0]["code"].text == "too-old")
    #expect(old.stop() == 0)
  }

  @Test func aLedgerInThePlaceOfTheOldOneIsFollowed() throws {
    try sluice("pause", "attachments")
    let stream = try Stream(folder)
    try stream.wait("the start") { !$0.isEmpty }
    try #require(try sluice("backup", "copy.db").status == 0)
    for name in ["sluice.db-wal", "sluice.db-shm"] {
      try? FileManager.default.removeItem(atPath: folder.path + "/home/" + name)
    }
    try #require(rename(folder.path + "/copy.db", folder.path + "/home/sluice.db") == 0)
    try sluice("resume", "attachments")
    try stream.wait("the restart") { lines in lines.contains { $0["code"].text == "another-history" } }
    #expect(stream.stop() == 0)
  }

  @Test func itEndsWithItsReader() throws {
    let outcome = try SluiceCommand.run(
      ["-c", "timeout 20 sluice watch --home home --format json | head -n 1"], in: folder,
      environment: ["PATH": SluiceCommand.folder + ":/bin:/usr/bin"], program: "/bin/sh")
    #expect(outcome.status == 0 && outcome.out.contains(#""record":"start""#), "\(outcome.err)")
  }

  @Test func whatCannotBeWatchedIsSaid() throws {
    let piped = try sluice("watch")
    #expect(piped.status == 2 && piped.out.isEmpty && piped.err.contains("--format json"))
    for words in [
      ["--since", "x"], ["--since", "1-2-3", "--format", "json"], ["--since", "1-2"], ["more"],
    ] {
      let outcome = try SluiceCommand.run(["watch", "--home", "home"] + words, in: folder)
      #expect(outcome.status == 2, "\(words): \(outcome.err)")
    }
  }

  // MARK: The view

  /// Runs a view on a terminal of its own, and gives it keys after a while.
  private func view(_ keys: [String], columns: Int = 80, rows: Int = 24, after command: String = "") throws
    -> String
  {
    let typed = keys.map { "sleep 0.7; printf '\($0)'" }.joined(separator: "; ")
    let inner =
      "stty cols \(columns) rows \(rows); sluice watch --home home; echo ended $?; stty -a\(command)"
    try folder.write("inner", inner)
    let outcome = try SluiceCommand.run(
      ["-c", "(\(typed); sleep 0.5) | timeout 30 script -qec 'trap : INT; sh inner' /dev/null"], in: folder,
      environment: ["PATH": SluiceCommand.folder + ":/bin:/usr/bin", "TERM": "xterm"], program: "/bin/sh")
    return outcome.out
  }

  private static let restored = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func theViewShowsTheLanesAndLeavesTheTerminalAsItWas() throws {
    try #require(try sluice("ingest", "in").status == 1)
    try folder.write("in/later.txt", "x")
    try #require(try sluice("enqueue", "in/later.txt").status == 0)
    let shown = try view(["q"])
    #expect(shown.contains("\u{1B}[?1049h") && shown.contains("1 due, 0 waiting, 0 in hand"), "\(shown)")
    #expect(shown.contains("> attachments") && shown.contains("size: empty: the file is empty"), "\(shown)")
    let end = try #require(shown.range(of: Self.restored)).upperBound
    #expect(shown[end...].contains("ended 0"))
    #expect(
      shown[end...].contains(#/\bicanon\b/#) && shown[end...].contains(#/[^-]echo\b/#), "\(shown[end...])")
  }

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func keysPauseAndResumeTheChosenLane() throws {
    let paused = try view(["p", "q"])
    #expect(paused.contains("attachments: paused"), "\(paused)")
    #expect(try sluice("status").out.contains("paused: a person paused it"))
    let resumed = try view(["r", "q"])
    #expect(resumed.contains("attachments: resumed"), "\(resumed)")
    #expect(try !sluice("status").out.contains("paused:"))
  }

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func anInterruptRestoresTheTerminal() throws {
    let shown = try view(["\\003"])
    // The shell around it may end as well: that the keys are as before, the other test says.
    #expect(shown.contains("\u{1B}[?1049h") && shown.contains(Self.restored), "\(shown)")
  }

  /// A line is never longer than the terminal is wide, and there are never more than it is high.
  @Test(
    .enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"),
    arguments: [(20, 5), (3, 2), (300, 60)])
  func aTerminalOfAnySizeWillDo(columns: Int, rows: Int) throws {
    try #require(try sluice("ingest", "in").status == 1)
    let shown = try view(["q"], columns: columns, rows: rows)
    let screens = shown.components(separatedBy: "\u{1B}[H").dropFirst()
    try #require(!screens.isEmpty)
    for screen in screens {
      let text = screen.components(separatedBy: "\u{1B}[J")[0].replacing(
        #/\u{1B}\[[0-9;]*[a-zA-Z]/#, with: "")
      let lines = text.components(separatedBy: "\r\n")
      #expect(lines.count <= rows && lines.allSatisfy { $0.unicodeScalars.count <= columns }, "\(lines)")
    }
    #expect(shown.contains(Self.restored))
  }
}
