import Foundation
import Testing

/// Input that is not what it should be: each is told with its name, the place and what to do, and nothing else suffers.
@Suite(.serialized)
struct BadInputTests {
  private func open() throws -> Inbox {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    try inbox.add("good", "a good one\n")
    return inbox
  }

  // MARK: Paths

  @Test func anEmptyFileIsAnAttachment() throws {
    let inbox = try open()
    try inbox.add("empty", "")
    let run = try inbox.run()
    #expect(run.outcome.status == 0)
    #expect(run.record("empty").mediaType == "inode/x-empty")
    #expect(run.record("empty").size == 0)
    try inbox.checkWhole(run)
  }

  @Test func whatCannotBeTakenInIsToldAndTheRestIsTaken() throws {
    let inbox = try open()
    let path = inbox.folder.path
    mkfifo(path + "/fifo", 0o600)
    try FileManager.default.createSymbolicLink(atPath: path + "/dangling", withDestinationPath: "nowhere")
    try FileManager.default.createSymbolicLink(atPath: path + "/looping", withDestinationPath: "looping")
    let socket = try makeSocket(path + "/socket")
    defer { close(socket) }
    let long = String(repeating: "n", count: 256)
    let run = try inbox.run([
      "missing", "in/good/below", "dangling", "looping", "fifo", "socket", "/dev/null", long, "", "in/good",
    ])
    #expect(run.outcome.status == 1)
    #expect(
      run.outcome.err.replacingOccurrences(of: path + "/", with: "") == """
        sluice: missing: No such file or directory; check the path
        sluice: in/good/below: Not a directory; check the path
        sluice: dangling: No such file or directory; check the path
        sluice: looping: Too many levels of symbolic links; check the path
        sluice: fifo: neither a file nor a folder; only those are taken in
        sluice: socket: neither a file nor a folder; only those are taken in
        sluice: /dev/null: neither a file nor a folder; only those are taken in
        sluice: \(long): File name too long; check the path
        sluice: '': No such file or directory; check the path

        """)
    #expect(run.record("good").status == "completed")
    #expect(run.outcome.attachments.count == 1)
    try inbox.checkWhole(run)
  }

  @Test func aFolderIsWalkedOnceHoweverItsLinksTurn() throws {
    let inbox = try open()
    let path = inbox.folder.path
    try inbox.add("inner/deep", "deep\n")
    try FileManager.default.createSymbolicLink(atPath: path + "/in/inner/up", withDestinationPath: "..")
    try FileManager.default.createSymbolicLink(
      atPath: path + "/in/passwords", withDestinationPath: "/etc/passwd")
    let run = try inbox.run()
    #expect(run.outcome.status == 1)
    let names = run.outcome.attachments.map { Inbox.Record(json: $0).fileName }.sorted()
    #expect(names == ["deep", "good"])
    #expect(run.outcome.err.contains("in/inner/up: a symbolic link; not followed"))
    #expect(run.outcome.err.contains("in/passwords: a symbolic link; not followed"))
    try inbox.checkWhole(run)
  }

  @Test func foldersMayBeAsDeepAsPathsAreLong() throws {
    let inbox = try open()
    let deep = String(repeating: "d/", count: 1900)
    #expect(try FixtureStages.run("/usr/bin/mkdir", ["-p", inbox.folder.path + "/in/" + deep]) == 0)
    try inbox.add(deep + "bottom", "deep down\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 0)
    #expect(run.record("bottom").status == "completed")
    try inbox.checkWhole(run)
    #expect(try FixtureStages.run("/bin/rm", ["-rf", inbox.folder.path + "/in/d"]) == 0)
  }

  @Test(.enabled(if: geteuid() != 0, "skipped: root may read everything"))
  func anUnreadableFileFailsWithItsReason() throws {
    let inbox = try open()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0], ofItemAtPath: try inbox.add("secret", "secret\n"))
    let run = try inbox.run()
    #expect(run.outcome.status == 1)
    #expect(run.record("secret").code == "unreadable")
    #expect(run.record("good").status == "completed")
    try inbox.checkWhole(run)
  }

  @Test func namesMadeToDoHarmAreNamesLikeOthers() throws {
    let inbox = try open()
    try inbox.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
        - use: store
          options: { path: "{conversationId}/{messageId}/{fileName}-{attachmentId}" }
      """)
    let names: [[UInt8]] = [
      Array("two\nlines".utf8), [0xFF, 0xFE, 0x2E], Array(repeating: UInt8(ascii: "n"), count: 255),
      Array(repeating: 0xFF, count: 255), Array("\u{1B}[2J\u{202E}txt".utf8), Array("-rf".utf8),
      Array("...".utf8),
    ]
    for name in names {
      let path = Array((inbox.folder.path + "/in/").utf8) + name + [0]
      let file = path.withUnsafeBytes {
        Glibc.open($0.bindMemory(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600)
      }
      try #require(file >= 0)
      _ = name.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      close(file)
    }
    let lines = [
      #"{"path":"in/good","fileName":"../../../etc/passwd","conversationId":"../..","messageId":"/"}"#,
      #"{"path":"in/good","fileName":"..","conversationId":".","messageId":".."}"#,
      #"{"path":"in/good","fileName":"a\nb\u001b","messageId":"\ud83c\udf88"}"#,
      #"{"path":"in/good","fileName":"\#(String(repeating: "ü", count: 512))","messageId":"long"}"#,
    ]
    let first = try inbox.run()
    #expect(first.outcome.status == 0)
    #expect(first.outcome.attachments.count == names.count + 1)
    try inbox.checkWhole(first)
    let second = try inbox.run([], options: ["--manifest", "-"], input: lines.joined(separator: "\n"))
    #expect(second.outcome.status == 0, "\(second.outcome.err)")
    #expect(second.outcome.attachments.count == lines.count)
    #expect(
      second.record("../../../etc/passwd").url?.hasPrefix("%2E.%2F../%2F/%2E.%2F..%2F..%2Fetc%2Fpasswd-")
        == true)
    try inbox.checkWhole(second)
  }

  // MARK: Files that change

  enum Change: String, Sendable, CaseIterable {
    case truncated, grown, rewritten, replaced
  }

  @Test(arguments: Change.allCases)
  func aFileThatChangesWhileItIsReadIsTriedAgain(change: Change) throws {
    let inbox = try open()
    let text = "misbehave dawdle\n" + String(repeating: "x", count: 300_000)
    let file = try inbox.add("a", text)
    let underway = try inbox.start()
    try inbox.waitForWork()
    usleep(300_000)  // the stage takes its time, at the first attempt only
    switch change {
    case .truncated: #expect(truncate(file, 100) == 0)
    case .grown, .rewritten:
      let handle = try #require(FileHandle(forUpdatingAtPath: file))
      if change == .grown { try handle.seekToEnd() } else { try handle.seek(toOffset: 1000) }
      try handle.write(contentsOf: Data(repeating: UInt8(ascii: "y"), count: 5000))
      try handle.close()
    case .replaced:
      let other = try inbox.folder.write("other", "well-behaved\n")
      #expect(rename(other, file) == 0)
    }
    let run = try underway.end()
    let record = run.record("a")
    #expect(record.status == "completed", "\(record.reason)")
    #expect(record.sha256 == (try Inbox.sha256(try Data(contentsOf: URL(fileURLWithPath: file)))))
    let attempts = try inbox.ledger(
      "SELECT max(number) FROM attempts JOIN attachments ON key = attachment_key WHERE file_name = 'a'")
    #expect(attempts == "2")
    try inbox.checkWhole(run)
  }

  @Test func aFileThatNeverStopsChangingFailsAndIsNotStored() throws {
    let inbox = try open()
    let file = try inbox.add("a", "misbehave linger\n")
    let underway = try inbox.start()
    let handle = try #require(FileHandle(forUpdatingAtPath: file))
    try handle.seekToEnd()
    while underway.process.isRunning {
      try handle.write(contentsOf: Data("more\n".utf8))
      usleep(5000)
    }
    let run = try underway.end()
    let record = run.record("a")
    #expect(record.status == "failed")
    #expect(record.code == "source-changed")
    #expect(record.url == nil)
    #expect(run.record("good").status == "completed")
    #expect(run.outcome.status == 1)
    try inbox.checkWhole(run)
  }

  @Test func aFileThatIsGoneWhenItsTurnComesFails() throws {
    let inbox = try open()
    try inbox.add("gone", "misbehave sleep\n")
    try inbox.add("turned", "misbehave sleep\n")
    let file = try inbox.add("stays", "misbehave sleep\n")
    let underway = try inbox.start()
    try inbox.waitForWork(3)
    kill(underway.process.processIdentifier, SIGKILL)
    underway.process.waitUntilExit()
    for name in ["gone", "turned"] {
      try FileManager.default.removeItem(atPath: inbox.folder.path + "/in/" + name)
    }
    mkfifo(inbox.folder.path + "/in/turned", 0o600)
    try inbox.pipeline("options: { act: pass }")
    let run = try inbox.run(["in/stays"])
    #expect(run.record("gone").status == "failed")
    #expect(
      run.record("gone").reason == [
        "stage": "source", "code": "missing", "message": "opening the file: No such file or directory",
      ])
    #expect(run.record("turned").code == "not-a-file")
    #expect(run.record("stays").status == "completed")
    #expect(run.record("stays").json["source"] as? String == file)
    #expect(run.outcome.status == 1)
    try inbox.checkWhole(run)
  }

  // MARK: Pipelines and plugins

  struct BadPipeline: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var says: String
    var testDescription: String { name }

    /// One with a stage of this name in line 3.
    static func use(_ stage: String, _ says: String) -> BadPipeline {
      BadPipeline(
        name: stage, text: "version: 1\nstages:\n  - use: \(stage)\n",
        says: "pipeline.yaml:3:10: stage '\(stage)' cannot be used: \(says)")
    }
  }

  static let badPipelines = [
    BadPipeline(
      name: "no YAML", text: "version: 1\nstages:\n  - use: [mime\n",
      says:
        "pipeline.yaml:4:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that begins "
        + "at line 3, column 10; close each bracket, and put a value with '{', '[' or ',' in quotes"),
    BadPipeline(
      name: "unknown option", text: "version: 1\nstages:\n  - use: pdf\n    options: { max-page: 3 }\n",
      says: "pipeline.yaml:4:16: unknown option 'max-page' for stage 'pdf'; did you mean 'max-pages'?"),
    BadPipeline(
      name: "unknown stage", text: "version: 1\nstages:\n  - use: mine\n",
      says: "pipeline.yaml:3:10: unknown stage 'mine'; did you mean 'mime'?"),
    .use(
      "foreign-abi",
      "PLUGINS/libsluice-foreign-abi.so: is built for stage ABI 99.7, and this sluice speaks 1.0; rebuild it against "
        + "this version's header; `sluice doctor` tells more"),
    .use(
      "not-a-library",
      "PLUGINS/libsluice-not-a-library.so: does not load: PLUGINS/libsluice-not-a-library.so: file too short; "
        + "`sluice doctor` tells more"),
    .use(
      "missing-symbol",
      "PLUGINS/libsluice-missing-symbol.so: exports no function 'missing_symbol_stage'; is it a stage, and is "
        + "'missing-symbol' its id?; `sluice doctor` tells more"),
    .use(
      "crash-on-load",
      "PLUGINS/libsluice-crash-on-load.so: takes its process down while it loads: crashed: SIGSEGV; it last said: about "
        + "to go wrong; `sluice doctor` tells more"),
    .use(
      "hang-on-load",
      "PLUGINS/libsluice-hang-on-load.so: does not load within 10s; `sluice doctor` tells more"),
  ]

  @Test(arguments: badPipelines)
  func aPipelineThatCannotBeUsedIsRefusedBeforeAnythingRuns(bad: BadPipeline) throws {
    let inbox = try open()
    try inbox.folder.write("pipeline.yaml", bad.text)
    let run = try inbox.run()
    let said = run.outcome.err.replacingOccurrences(of: try FixtureStages.folder(), with: "PLUGINS")
    #expect(said == bad.says + "\n")
    #expect(run.outcome.status == 78)
    #expect(run.outcome.out == "")
    #expect(!FileManager.default.fileExists(atPath: inbox.folder.path + "/home"))
    #expect(Inbox.workers(of: run.pid) == [])
  }

  @Test func aPluginThatHangsDiesWithWhoeverAsked() throws {
    let inbox = try open()
    try inbox.folder.write("pipeline.yaml", "version: 1\nstages: [{ use: hang-on-load }]\n")
    let underway = try inbox.start()
    let pid = underway.process.processIdentifier
    for _ in 0..<500 where Inbox.workers(of: pid).count != 1 { usleep(10_000) }
    usleep(200_000)
    #expect(Inbox.workers(of: pid).count == 1)
    kill(pid, SIGKILL)
    underway.process.waitUntilExit()
    for _ in 0..<200 where !Inbox.workers(of: pid).isEmpty { usleep(10_000) }
    #expect(Inbox.workers(of: pid) == [])
  }

  @Test func aPipelineThatIsNoFileIsToldWithARemedy() throws {
    let inbox = try open()
    for (file, reason) in [("nowhere.yaml", "No such file or directory"), ("in", "Is a directory")] {
      let run = try inbox.run(options: ["--config", file])
      #expect(run.outcome.err == "sluice: \(file): \(reason); name a pipeline's file with --config FILE\n")
      #expect(run.outcome.status == 78)
    }
  }

  // MARK: Homes and ledgers

  @Test func aLedgerOfANewerVersionIsLeftAlone() throws {
    let inbox = try open()
    #expect(try inbox.run().outcome.status == 0)
    try changeLedger(inbox, "PRAGMA user_version = 99")
    try inbox.add("later", "later\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 78)
    #expect(
      run.outcome.err
        == "sluice: home/sluice.db has schema version 99, and this sluice knows up to 1; use the newer sluice that wrote it\n"
    )
    try changeLedger(inbox, "PRAGMA user_version = 1")
    let again = try inbox.run()
    #expect(again.outcome.status == 0)
    #expect(again.outcome.attachments.count == 1, "what was known is known still")
    try inbox.checkWhole(again)
  }

  @Test(arguments: ["PRAGMA user_version = -1", "CREATE TABLE somebody (elses)"])
  func aDatabaseOfSomethingElseIsLeftAlone(change: String) throws {
    let inbox = try open()
    try FileManager.default.createDirectory(
      atPath: inbox.folder.path + "/home", withIntermediateDirectories: true)
    try changeLedger(inbox, change)
    let before = try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db"))
    let run = try inbox.run()
    #expect(run.outcome.status == 70)
    #expect(
      run.outcome.err
        == "sluice: home/sluice.db: is a database of something else, and stays as it is; move it away, or begin with "
        + "another --home\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db")) == before)
  }

  @Test func aLedgerThatIsNoDatabaseIsLeftAlone() throws {
    let inbox = try open()
    let noise = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
    try inbox.folder.write("home/sluice.db", noise)
    let run = try inbox.run()
    #expect(run.outcome.status == 70)
    #expect(
      run.outcome.err
        == "sluice: home/sluice.db: file is not a database; restore it from a backup, or begin with another --home\n"
    )
    #expect(try Data(contentsOf: URL(fileURLWithPath: inbox.folder.path + "/home/sluice.db")) == noise)
  }

  @Test func aHomeThatIsAFileIsToldWithARemedy() throws {
    let inbox = try open()
    try inbox.folder.write("home", "not a folder\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 78)
    #expect(
      run.outcome.err
        == "sluice: making home/store: Not a directory; give a home that can be written, with --home\n")
    #expect(try inbox.folder.read("home") == "not a folder\n")
  }

  @Test(.enabled(if: Mounts.areAllowed, "skipped: no right to mount a file system"))
  func aReadOnlyHomeIsToldWithARemedy() throws {
    let inbox = try open()
    #expect(try inbox.run().outcome.status == 0)
    let home = inbox.folder.path + "/home"
    try #require(try FixtureStages.run("/bin/mount", ["--bind", home, home]) == 0)
    defer { _ = try? FixtureStages.run("/bin/umount", [home]) }
    try #require(try FixtureStages.run("/bin/mount", ["-o", "remount,ro,bind", home]) == 0)
    for (options, doing) in [
      ([String](), "opening home/sluice.lock"), (["--home", "home/new"], "making home/new"),
    ] {
      let run = try inbox.run(options: options)
      #expect(run.outcome.status == 78)
      #expect(
        run.outcome.err
          == "sluice: \(doing): Read-only file system; give a home that can be written, with --home\n")
    }
  }

  @Test func aSecondIngestOnAHomeIsTurnedAway() throws {
    let inbox = try open()
    try inbox.add("a", "misbehave linger\n")
    let first = try inbox.start()
    try inbox.waitForWork()
    let second = try inbox.run()
    #expect(second.outcome.status == 75)
    #expect(
      second.outcome.err
        == "sluice: home is in use by another sluice (process \(first.process.processIdentifier)); wait for it to end, "
        + "or give another --home\n")
    #expect(second.outcome.out == "")
    let run = try first.end()
    #expect(run.outcome.status == 0)
    #expect(run.outcome.attachments.count == 2)
    try inbox.checkWhole(run)
  }

  // MARK: Manifests

  @Test func aManifestsBadLinesAreNamedAndItsGoodOnesTaken() throws {
    let inbox = try open()
    let lines: [(line: [UInt8], says: String?)] = [
      (Array(#"{"path":"in/good"}"#.utf8), nil),
      (Array("not JSON".utf8), #"not a JSON object such as {"path": "inbox/a.pdf"}"#),
      (Array(#"["path"]"#.utf8), #"not a JSON object such as {"path": "inbox/a.pdf"}"#),
      (Array(#"{"path":"in/good","filename":"x"}"#.utf8), "unknown key 'filename'; did you mean 'fileName'?"),
      (Array(#"{"path":"in/good","priority":"high"}"#.utf8), "'priority' is text where integer is wanted"),
      (Array(#"{"path":7}"#.utf8), "'path' is integer where text is wanted"),
      (
        Array(#"{"path":"in/good","participants":[1]}"#.utf8),
        "'participants' holds something else than texts"
      ),
      (Array(#"{"path":"in/good","path":"in/good"}"#.utf8), "the key 'path' stands there twice"),
      (Array(#"{"fileName":"x"}"#.utf8), "the key 'path' is missing or empty"),
      (Array("".utf8), nil),
      (
        Array(#"{"path":"in/\#(String(repeating: "x", count: 2 << 20))"}"#.utf8),
        "the line is longer than 1MB; passed over, the next is read"
      ),
      (Array(#"{"path":"in/"#.utf8) + [0xFF, 0x22, 0x7D], "not UTF-8"),
      (Array(#"{"path":"in/good\u0000.pdf"}"#.utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/good","fileName":"\\\u0000"}"#.utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/good"}"#.utf8) + [0] + Array("{}".utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/nothing"}"#.utf8), "in/nothing: No such file or directory; check the path"),
      (Array(#"{"path":"in"}"#.utf8), "in: not a file; a manifest lists files, one a line"),
      (
        Array(#"{"path":"in/good","messageId":""}"#.utf8),
        "'messageId' has 0 bytes where 1 to 256 are allowed"
      ),
      (
        Array(String(repeating: "[", count: 5000).utf8), #"not a JSON object such as {"path": "inbox/a.pdf"}"#
      ),
      (Array(#"{"path":"in/good","messageId":"m1","fileName":"\\u0000"}"#.utf8), nil),
      (Array(#"{"path":"in/good","messageId":"m1","senderId":"eve"}"#.utf8), nil),
      (Array(#"  {"path":"in/good","messageId":"last"}"#.utf8), nil),
    ]
    try inbox.folder.write("list.jsonl", Data(lines.map(\.line).joined(separator: [0x0A])))
    let run = try inbox.run([], options: ["--manifest", "list.jsonl"])
    var wanted = lines.enumerated().compactMap { index, line in
      line.says.map { "sluice: list.jsonl:\(index + 1): \($0)" }
    }
    // The ledger's own objection comes when the batch is recorded.
    wanted.append(
      "sluice: list.jsonl:21: message 'm1' of conversation 'default' is from 'ann', not from 'eve'; give it another messageId"
    )
    let said = run.outcome.err.replacingOccurrences(of: inbox.folder.path + "/", with: "").split(
      separator: "\n"
    ).map(String.init)
    #expect(said.sorted() == wanted.sorted())
    #expect(run.outcome.status == 1)
    #expect(
      run.outcome.attachments.map { Inbox.Record(json: $0).fileName }.sorted() == [
        #"\u0000"#, "good", "good",
      ])
    #expect(run.outcome.attachments.allSatisfy { Inbox.Record(json: $0).status == "completed" })
    try inbox.checkWhole(run)
  }

  @Test func aManifestThatIsNotThereIsToldWithARemedy() throws {
    let inbox = try open()
    let run = try inbox.run([], options: ["--manifest", "nowhere.jsonl"])
    #expect(run.outcome.status == 2)
    #expect(
      run.outcome.err
        == "sluice: nowhere.jsonl: No such file or directory; give the manifest's path, or - for standard input\n"
    )
  }

  // MARK: Making things bad

  private func changeLedger(_ inbox: Inbox, _ sql: String) throws {
    try Inbox.execute(sql, on: inbox.folder.path + "/home/sluice.db")
  }

  private func makeSocket(_ path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    return descriptor
  }
}

/// Whether this process may mount file systems.
enum Mounts {
  static let areAllowed: Bool = {
    guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
    guard (try? FixtureStages.run("/bin/mount", ["--bind", folder.path, folder.path])) == 0 else {
      return false
    }
    _ = try? FixtureStages.run("/bin/umount", [folder.path])
    return true
  }()
}
