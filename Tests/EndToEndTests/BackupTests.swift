import Foundation
import Glibc
import Platform
import SQLite
import Testing

/// Copies of a ledger in use, and homes restored from them.
@Suite(.serialized)
struct BackupTests {
  private static let ingest = [
    "ingest", "--sender", "ann", "--participants", "ann,ben", "--conversation", "c1", "in", "--home",
  ]

  private func folder(files: Int) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for number in 0..<files { try folder.write("in/\(number).txt", "text \(number % (files - 20))\n") }
    return folder
  }

  private func backup(_ file: String, _ folder: TemporaryFolder, _ options: String...) throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(["backup", file] + options, in: folder)
  }

  @Test func aHomeRestoredFromACopyOfAnyMomentIsBroughtUpToDate() throws {
    let folder = try folder(files: 3000)
    var random = SplitMix(state: 7)
    var copies: [String] = []
    for round in 0..<8 {
      let process = try SluiceCommand.start(
        Self.ingest + ["var"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
      usleep(.random(in: 60_000...160_000, using: &random))
      for part in ["a", "b"] where process.isRunning {
        let outcome = try backup("\(round)\(part).db", folder)
        if [2, 75].contains(outcome.status) { continue }  // there is no ledger yet, or an incomplete one
        #expect(outcome.status == 0, "\(outcome.err)")
        copies.append("\(round)\(part).db")
        usleep(.random(in: 0...40_000, using: &random))
      }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    #expect(copies.count > 3, "\(copies)")
    #expect(folder.files(below: ".").allSatisfy { !$0.hasSuffix(".partial") })
    for copy in [copies.first, copies[copies.count / 2], copies.last].compactMap(\.self) {
      try restore(copy, folder)
    }
  }

  /// Makes a home from a copy of the ledger, and from the present store and events.
  private func restore(_ copy: String, _ folder: TemporaryFolder) throws {
    let home = "restored-" + copy
    let files = FileManager.default
    try files.createDirectory(atPath: "\(folder.path)/\(home)", withIntermediateDirectories: true)
    try files.copyItem(atPath: "\(folder.path)/\(copy)", toPath: "\(folder.path)/\(home)/sluice.db")
    try #require(
      try FixtureStages.run("/bin/cp", ["-a", "\(folder.path)/var/store", "\(folder.path)/\(home)/store"])
        == 0)
    try? files.copyItem(
      atPath: "\(folder.path)/var/events.jsonl", toPath: "\(folder.path)/\(home)/events.jsonl")

    func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(words + ["--home", home], in: folder)
    }
    let found = try sluice("verify", "--format", "json")
    let codes = Set(found.records(Printed.Finding.self).map(\.code))
    #expect(
      codes.isSubset(of: ["orphan", "leftover", "object-unnamed"]), "only what is newer is told: \(codes)")
    let repaired = try sluice("verify", "--repair")
    #expect(repaired.status == 0, "\(repaired.out.suffix(500))\(repaired.err)")
    #expect(try sluice("verify").status == 0)
    let run = try SluiceCommand.run(Self.ingest + [home], in: folder)
    #expect(run.status == 0, "\(run.err)")
    let sources = (0..<3000).compactMap { realpath("\(folder.path)/in/\($0).txt") }
    try Witness(folder: folder, home: home).checkCompleted(sources, recipients: nil)
    #expect(try sluice("verify").status == 0)

    // Every delivery recorded in the ledger is there, and nothing is there twice.
    var told: Set<Substring> = []
    let events = try folder.read(home + "/events.jsonl")
    for line in events.split(separator: "\n") {
      #expect(told.insert(line.dropFirst(7).prefix(36)).inserted, "\(line.prefix(60)) stands there once")
    }
    var missing = 0
    let ledger = try Connection("\(folder.path)/\(home)/sluice.db", .readOnly)
    try ledger.prepare("SELECT id, status FROM deliveries").rows { row in
      if row.text(1) != "delivered" || !told.contains(Substring(row.text(0))) { missing += 1 }
    }
    #expect(missing == 0)
  }

  private func realpath(_ path: String) -> String? {
    guard let resolved = Glibc.realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  @Test func aCopyBesideTheLogOfTheLedgerItReplacesIsRefused() throws {
    let folder = try folder(files: 40)
    #expect(try SluiceCommand.run(Self.ingest + ["var"], in: folder).status == 0)
    #expect(try backup("copy.db", folder).status == 0)
    // Only a killed coordinator leaves a log that is not empty.
    for number in 0..<1500 { try folder.write("in/late-\(number).txt", "late \(number)\n") }
    let process = try SluiceCommand.start(
      Self.ingest + ["var"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
    while process.isRunning && folder.files(below: "var/store").count < 60 { usleep(1000) }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let files = FileManager.default
    let ledger = folder.path + "/var/sluice.db"
    try #require((files.contents(atPath: ledger + "-wal") ?? Data()).isEmpty == false)
    try files.removeItem(atPath: ledger)
    try files.copyItem(atPath: folder.path + "/copy.db", toPath: ledger)
    let before = try Data(contentsOf: URL(fileURLWithPath: ledger))
    for words in [
      ["status"], ["list"], ["verify"], ["verify", "--repair"], ["backup", "x.db"], Self.ingest + ["var"],
    ] {
      let outcome = try SluiceCommand.run(words, in: folder)
      #expect(outcome.status == (words[0] == "verify" ? 1 : 70), "\(words)")
      #expect(
        (outcome.out + outcome.err).contains(
          "sluice.db-shm away, then run again"))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: ledger)) == before)
    for name in ["-wal", "-shm"] { try files.removeItem(atPath: ledger + name) }
    #expect(try SluiceCommand.run(["verify", "--repair"], in: folder).status == 0)
    #expect(try SluiceCommand.run(Self.ingest + ["var"], in: folder).status == 0)
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
  }

  @Test func aFileThatIsThereIsReplacedOnlyByForce() throws {
    let folder = try folder(files: 30)
    #expect(try backup("copy.db", folder).status == 2, "there is no ledger")
    #expect(try SluiceCommand.run(Self.ingest + ["var"], in: folder).status == 0)
    try folder.write("copy.db", "mine\n")
    let refused = try backup("copy.db", folder)
    #expect(refused.status == 2 && refused.err.contains("copy.db is there already"))
    #expect(try folder.read("copy.db") == "mine\n")
    let kept = try backup("copy.db", folder, "--force")
    #expect(kept.status == 78 && kept.err.contains("is no copy of a ledger"), "\(kept.err)")
    #expect(try folder.read("copy.db") == "mine\n", "not even by force, where it is no copy")
    try FileManager.default.removeItem(atPath: folder.path + "/copy.db")
    #expect(try backup("copy.db", folder).status == 0)
    let made = try backup("copy.db", folder, "--force", "--format", "json")
    #expect(made.status == 0, "\(made.err)")
    let size = try FileManager.default.attributesOfItem(atPath: folder.path + "/copy.db")[.size] as? Int
    #expect(try made.only(Printed.Backup.self).sizeBytes == size)
    let away = try backup("nowhere/copy.db", folder)
    #expect(away.status == 78 && away.err.contains("nowhere/copy.db.partial: No such file or directory"))
    #expect(try backup("file:odd?mode=memory", folder).status == 0)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/file:odd?mode=memory"))
  }

  @Test func aDamagedLedgerIsNotCopied() throws {
    let folder = try folder(files: 200)
    #expect(try SluiceCommand.run(Self.ingest + ["var"], in: folder).status == 0)
    let ledger = folder.path + "/var/sluice.db"
    for name in ["-wal", "-shm"] { unlink(ledger + name) }
    let file = try #require(FileHandle(forUpdatingAtPath: ledger))
    let size = try file.seekToEnd()
    for page in stride(from: 4096 * 3, to: size, by: 4096 * 2) {
      try file.seek(toOffset: page)
      try file.write(contentsOf: Data(count: 4096))
    }
    try file.close()
    let outcome = try backup("copy.db", folder)
    #expect(outcome.status == 70 && outcome.err.contains("var/sluice.db: "), "\(outcome.err)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy.db"))
  }

  @Test func aBackupThatIsKilledLeavesAWholeCopyOrNone() throws {
    let folder = try folder(files: 1500)
    #expect(try SluiceCommand.run(Self.ingest + ["var"], in: folder).status == 0)
    var random = SplitMix(state: 3)
    for number in 0..<40 {
      let process = try SluiceCommand.start(
        ["backup", "\(number).db"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
      usleep(.random(in: 0...45_000, using: &random))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let copy = "\(folder.path)/\(number).db"
      if FileManager.default.fileExists(atPath: copy) {
        let connection = try Connection(copy, .readOnly)
        #expect(try connection.prepare("PRAGMA integrity_check").first { $0.text(0) } == "ok")
        #expect(try connection.prepare("SELECT count(*) FROM attachments").first { $0.integer(0) } == 1500)
      } else {
        #expect(try backup("\(number).db", folder).status == 0, "what is left of it is in nobody's way")
      }
    }
  }
}
