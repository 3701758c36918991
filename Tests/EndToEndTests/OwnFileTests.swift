import Foundation
import Testing

/// A path that the user names for writing is never one of the program's own files, however it is spelled.
@Suite(.serialized)
struct OwnFileTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("in/a.txt", "a text\n")
    try folder.write("pipeline.yaml", Pipelines.open)
    #expect(try ingest().status == 0)
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "home")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/home/innocent", withDestinationPath: "store/new-object")
    try FileManager.default.linkItem(
      atPath: folder.path + "/home/sluice.db", toPath: folder.path + "/twin.db")
  }

  private func ingest() throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["ingest", "--home", "home", "--participants", "ann", "in"], in: folder)
  }

  /// Everything below the home with its content, except temporary files.
  private func state() throws -> [String: Data] {
    var state: [String: Data] = [:]
    for name in folder.files(below: "home")
    where !["sluice.db-shm", "sluice.db-wal", "sluice.lock"].contains(name) {
      state[name] = FileManager.default.contents(atPath: "\(folder.path)/home/\(name)")
    }
    return state
  }

  static let paths = [
    ("reserve", "file 'reserve'"), ("sluice.sock", "file 'sluice.sock'"), ("sluice.db", "file 'sluice.db'"),
    ("sluice.db-wal", "file 'sluice.db-wal'"), ("sluice.lock", "file 'sluice.lock'"),
    ("sluice.new", "file 'sluice.new'"),
    ("store", "store"), ("store/events.jsonl", "store"), ("store/.incoming/x", "store"),
    ("lost+found/x", "lost+found"), ("uploads", "uploads"), ("downloads/1.part", "downloads"),
    ("./reserve", "file 'reserve'"), ("in/../reserve", "file 'reserve'"), ("../home/store/x", "store"),
    ("../link/reserve", "file 'reserve'"), ("../link/store/x", "store"), ("innocent", "store"), (".", "home"),
    ("../twin.db", "file 'sluice.db'"),
  ]

  @Test(arguments: paths) func aChannelMayNotWriteThem(path: String, own: String) throws {
    let before = try state()
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(of: "path: events.jsonl", with: "path: \"\(path)\""))
    for command in [
      ["lint", "--home", "home"], ["ingest", "--home", "home", "in"], ["run", "--home", "home"],
    ] {
      let outcome = try SluiceCommand.run(command, in: folder)
      #expect(outcome.status == 78, "\(command): \(outcome.out) \(outcome.err)")
      #expect(
        outcome.err.contains(
          "option 'path' of channel 'jsonl' names '\(path)', which is sluice's own \(own)"),
        "\(command): \(outcome.err)")
      #expect(outcome.err.hasPrefix("pipeline.yaml:16:"), "\(outcome.err)")
    }
    #expect(try state() == before)
  }

  @Test(arguments: ["events.jsonl", "../outside.jsonl", "sub/events.jsonl", "storehouse.jsonl"])
  func otherFilesItMay(path: String) throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/home/sub", withIntermediateDirectories: true)
    try folder.write(
      "pipeline.yaml", Pipelines.open.replacingOccurrences(of: "path: events.jsonl", with: "path: \(path)"))
    let outcome = try ingest()
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  // MARK: Backups

  @Test(
    arguments: [
      "home/sluice.db", "home/events.jsonl", "home/reserve", "home/store/documents", "home/sluice.sock",
      "link/sluice.db",
      "home/new.db/../sluice.db", "twin.db", "pipe", "device", "pipeline.yaml", "empty",
      "elsewhere/sluice.db",
      "home/store/x", "symbolic",
    ])
  func aBackupReplacesNothingButCopies(target: String) throws {
    mkfifo(folder.path + "/pipe", 0o600)
    // A device node of its own and not the machine's: without the guard it would be deleted. Only root can
    // create one.
    let device = folder.path + "/device"
    let null: dev_t = 1 << 8 | 3
    let hasDevice = mknod(device, S_IFCHR | 0o600, null) == 0
    if target == "device" && !hasDevice { return }
    try folder.write("empty", "")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: folder.path + "/symbolic", withDestinationPath: "pipeline.yaml")
    // A ledger in use elsewhere is not a copy.
    try folder.write("elsewhere/x", "x")
    #expect(try SluiceCommand.run(["ingest", "--home", "elsewhere", "in"], in: folder).status == 0)
    let before = try state()
    let pipeline = try folder.read("pipeline.yaml")
    for options in [["-f"], []] {
      let outcome = try SluiceCommand.run(["backup", "--home", "home", target] + options, in: folder)
      #expect(
        [2, 78].contains(outcome.status), "\(options): \(outcome.status) \(outcome.out) \(outcome.err)")
      #expect(outcome.err.contains("; "), "it says what to do: \(outcome.err)")
    }
    #expect(try state() == before)
    #expect(try folder.read("pipeline.yaml") == pipeline)
    var facts = stat()
    #expect(lstat(folder.path + "/pipe", &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO)
    #expect(!hasDevice || lstat(device, &facts) == 0 && facts.st_mode & S_IFMT == S_IFCHR)
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
    #expect(try SluiceCommand.run(["verify", "--home", "elsewhere"], in: folder).status == 0)
  }

  @Test func aBackupReplacesAnEarlierCopy() throws {
    #expect(try SluiceCommand.run(["backup", "--home", "home", "copy.db"], in: folder).status == 0)
    let refused = try SluiceCommand.run(["backup", "--home", "home", "copy.db"], in: folder)
    #expect(refused.status == 2 && refused.err.contains("--force"), "\(refused.err)")
    let replaced = try SluiceCommand.run(["backup", "--home", "home", "-f", "copy.db"], in: folder)
    #expect(replaced.status == 0, "\(replaced.err)")
  }

  /// The copy is first written under another name beside the target.
  @Test func aFileThatStandsWhereTheCopyWouldBeMadeIsLeftAlone() throws {
    try folder.write("copy.db.partial", "somebody's notes\n")
    let outcome = try SluiceCommand.run(["backup", "--home", "home", "copy.db"], in: folder)
    #expect(outcome.status == 78, "\(outcome.err)")
    #expect(outcome.err.contains("copy.db.partial is where the copy would be made, and holds something else"))
    #expect(try folder.read("copy.db.partial") == "somebody's notes\n")
  }
}
