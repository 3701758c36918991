import Foundation
import Testing

/// Bad input: each problem is reported with name, place and remedy, and nothing else is affected.
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
    #expect(try run.record("empty").mediaType == "inode/x-empty")
    #expect(try run.record("empty").sizeBytes == 0)
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
    #expect(try run.record("good").status == "completed")
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
    let names = run.outcome.attachments.map(\.fileName).sorted()
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
    #expect(try run.record("bottom").status == "completed")
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
    #expect(try run.record("secret").code == "unreadable")
    #expect(try run.record("good").status == "completed")
    try inbox.checkWhole(run)
  }

  @Test func namesMadeToDoHarmAreNamesLikeOthers() throws {
    let inbox = try open()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.storing(path: "{conversationId}/{messageId}/{fileName}-{attachmentId}"))
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
      try second.record("../../../etc/passwd").url?.hasPrefix("%2E.%2F../%2F/%2E.%2F..%2F..%2Fetc%2Fpasswd-")
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
    usleep(300_000)  // the stage is slow, at the first attempt only
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
    let record = try run.record("a")
    #expect(record.status == "completed", "\(record)")
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
    let record = try run.record("a")
    #expect(record.status == "failed")
    #expect(record.code == "source-changed")
    #expect(record.url == nil)
    #expect(try run.record("good").status == "completed")
    #expect(run.outcome.status == 1)
    try inbox.checkWhole(run)
  }

  @Test func aFileThatIsGoneWhenItsTurnComesFails() throws {
    let inbox = try open()
    try inbox.add("gone", "misbehave sleep\n")
    try inbox.add("turned", "misbehave sleep\n")
    try inbox.add("linked", "misbehave sleep\n")
    let file = try inbox.add("stays", "misbehave sleep\n")
    let underway = try inbox.start()
    try inbox.waitForWork(4)
    kill(underway.process.processIdentifier, SIGKILL)
    underway.process.waitUntilExit()
    for name in ["gone", "turned", "linked"] {
      try FileManager.default.removeItem(atPath: inbox.folder.path + "/in/" + name)
    }
    mkfifo(inbox.folder.path + "/in/turned", 0o600)
    symlink(file, inbox.folder.path + "/in/linked")
    try inbox.pipeline("options: { act: pass }")
    let run = try inbox.run(["in/stays"])
    #expect(try run.record("gone").status == "failed")
    #expect(
      try run.record("gone").reason
        == Printed.Reason(
          stage: "source", code: "missing",
          message: "opening the file: No such file or directory (attempt 2, the last)"))
    #expect(try run.record("turned").code == "not-a-file")
    #expect(try run.record("linked").code == "not-a-file")
    #expect(try run.record("stays").status == "completed")
    #expect(try run.record("stays").source == file)
    #expect(run.outcome.status == 1)
    try inbox.checkWhole(run)
  }

  // MARK: Making things bad

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
