import Foundation
import Testing

/// The folders in which trials write: small however many attachments are tried, and gone afterwards, whatever ends the program.
@Suite(.serialized)
struct TrialFolderTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml", Pipelines.storing("- { use: size, options: { max: 1MB } }", path: "d/{attachmentId}/a")
    )
    for number in 0..<300 { try folder.write("in/\(number).txt", "text number \(number)\n") }
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
  }

  private var temporary: String { folder.path + "/temporary" }

  private var trials: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? []).filter {
      $0.hasPrefix("sluice-trial-")
    }
  }

  private func ingest() throws {
    let outcome = try SluiceCommand.run(["ingest", "--home", "home", "-q", "in"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  /// Starts a command, and waits until it has its folder.
  private func start(_ words: [String], home: [String] = ["--home", "home"]) throws -> Process {
    let process = try SluiceCommand.start(
      words + home, in: folder, out: "\(folder.path)/out", err: "\(folder.path)/err",
      environment: ["TMPDIR": temporary])
    try Resident.wait("it has a folder") { !trials.isEmpty || !process.isRunning }
    #expect(process.isRunning)
    return process
  }

  /// To walk what is left of all others after each attachment would take the longer the more there are.
  @Test func foldersOfObjectsGoWithTheirTrial() throws {
    try ingest()
    let process = try start(["replay"])
    var most = 0
    while process.isRunning {
      most = max(most, folder.folders(below: "temporary"))
      usleep(2000)
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect((1...12).contains(most), "\(most) folders at once")
    #expect(trials.isEmpty)
  }

  @Test func whatAKilledOneLeftIsDeletedByTheNextAndNothingElse() throws {
    try ingest()
    let killed = try start(["replay"])
    kill(killed.processIdentifier, SIGKILL)
    killed.waitUntilExit()
    let left = trials
    #expect(left.count == 1)
    for (name, mode) in [("sluice-trial-Shared", 0o755), ("sluice-trial-longer1", 0o700)] {
      try folder.write("temporary/\(name)/kept.txt", "kept")
      chmod("\(temporary)/\(name)", mode_t(mode))
    }
    try folder.write("elsewhere/kept.txt", "kept")
    chmod(folder.path + "/elsewhere", 0o700)
    symlink(folder.path + "/elsewhere", "\(temporary)/sluice-trial-Linked")
    symlink(folder.path + "/elsewhere", "\(temporary)/\(left[0])/linked")
    // That of another program, which is at work.
    try folder.write("temporary/sluice-trial-InUse1/kept.txt", "kept")
    chmod("\(temporary)/sluice-trial-InUse1", 0o700)
    let held = open("\(temporary)/sluice-trial-InUse1", O_RDONLY)
    defer { close(held) }
    #expect(flock(held, LOCK_EX | LOCK_NB) == 0)

    let next = try SluiceCommand.run(
      ["replay", "--home", "home", "--sample", "1"], in: folder, environment: ["TMPDIR": temporary])
    #expect(next.status == 0, "\(next.err)")
    let kept = ["sluice-trial-InUse1", "sluice-trial-Linked", "sluice-trial-Shared", "sluice-trial-longer1"]
    #expect(trials.sorted() == kept)
    #expect(try folder.read("elsewhere/kept.txt") == "kept")
    for name in kept { #expect(try folder.read("temporary/\(name)/kept.txt") == "kept", "\(name)") }
  }

  /// It says so, and nothing of attachments that it did not look at.
  @Test(arguments: [["replay", "--diff"], ["ingest", "in", "--dry-run"]])
  func aSignalAtAnyTimeInterruptsIt(words: [String]) throws {
    if words[0] == "replay" { try ingest() }
    for round in 0..<10 {
      let process = try start(words)
      usleep(UInt32(round) * 4000)
      kill(process.processIdentifier, round % 2 == 0 ? SIGTERM : SIGINT)
      process.waitUntilExit()
      let said = try folder.read("err")
      #expect(process.terminationReason == .exit && process.terminationStatus == 75, "\(said)")
      #expect(said.contains("interrupted by a signal") && !said.contains("neither"), "\(said)")
      #expect(trials.isEmpty)
    }
  }

  /// No check is held to have failed for it.
  @Test func aSignalInterruptsChecks() throws {
    for round in 0..<10 {
      let process = try start(["stages", "check", "store", "--set", "path={attachmentId}"], home: [])
      usleep(UInt32(round) * 10_000)
      kill(process.processIdentifier, SIGTERM)
      process.waitUntilExit()
      let said = try folder.read("out") + folder.read("err")
      #expect(process.terminationReason == .exit && process.terminationStatus == 75, "\(said)")
      #expect(said.components(separatedBy: "interrupted by a signal").count == 2, "\(said)")
      #expect(trials.isEmpty)
    }
  }
}

extension TemporaryFolder {
  /// How many folders there are below one.
  fileprivate func folders(below name: String) -> Int {
    var count = 0
    let all = FileManager.default.enumerator(atPath: path + "/" + name)
    while all?.nextObject() is String {
      if all?.fileAttributes?[.type] as? FileAttributeType == .typeDirectory { count += 1 }
    }
    return count
  }
}
