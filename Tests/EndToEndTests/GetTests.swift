import Foundation
import Testing

/// `sluice get`: the bytes of an object, whole and as recorded, or nothing.
@Suite(.serialized)
struct GetTests {
  private let folder: TemporaryFolder
  /// The ids by file name.
  private var ids: [String: String] = [:]

  private static let binary = Data(
    [0x50, 0x4B, 0x1B, 0x5B, 0x33, 0x31, 0x6D, 0xFF, 0x00] + Array(repeating: 7, count: 600_000))

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    try folder.write("in/plain.txt", "grüße\n")
    try folder.write("in/binary", Self.binary)
    try folder.write("in/empty", "")
    try folder.write("in/later.txt", "later\n")
    let ingest = try sluice("ingest", "in/plain.txt", "in/binary", "in/empty")
    try #require(ingest.status == 1, "\(ingest.err)")
    try #require(try sluice("enqueue", "in/later.txt").status == 0)
    for record in try sluice("list", "--format", "json").attachments { ids[record.fileName] = record.id }
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func id(_ name: String) throws -> String { try #require(ids[name]) }

  private func data(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
  }

  /// The store's file of an attachment.
  private func object(_ name: String) throws -> String {
    let record = try #require(
      try sluice("list", "--format", "json").attachments.first { $0.fileName == name })
    return "\(folder.path)/home/store/\(try #require(record.url))"
  }

  private var leftovers: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("partial") }
    }
  }

  @Test func theBytesAreThoseOfTheSource() throws {
    let copied = try sluice("get", try id("binary"), "-o", "copy")
    #expect(copied.status == 0 && copied.out == "copy  585.9 KB\n", "\(copied.err)")
    #expect(try data("copy") == Self.binary)
    #expect(try sluice("get", try id("binary"), "--quiet", "-o", "other").out.isEmpty)
    // Standard output, through a file of this shell's.
    let printed = try SluiceCommand.run(
      ["-c", "sluice get --home home \(try id("binary")) -o - > printed"], in: folder,
      environment: ["PATH": SluiceCommand.folder + ":/bin:/usr/bin"], program: "/bin/sh")
    #expect(printed.status == 0, "\(printed.err)")
    #expect(try data("printed") == Self.binary)
    #expect(try sluice("get", try id("plain.txt")).out == "grüße\n")
    #expect(try leftovers.isEmpty)
  }

  /// It is completed a moment before its object has its path.
  @Test func anObjectThatWaitsForItsPathIsRead() throws {
    let id = try id("binary")
    let waiting = "\(folder.path)/home/store/.incoming/7.9.\(id)"
    try FileManager.default.moveItem(atPath: try object("binary"), toPath: waiting)
    // That of a lost lease is another one.
    try Data("other".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/home/store/.incoming/3.1.\(id)"))
    let copied = try sluice("get", id, "-o", "copy")
    #expect(copied.status == 0, "\(copied.err)")
    #expect(try data("copy") == Self.binary)
    try FileManager.default.removeItem(atPath: waiting)
    #expect(try sluice("get", id, "-o", "copy2").err.contains("it is not in the store"))
  }

  @Test func aFileThatIsThereStaysUnlessItIsToBeReplaced() throws {
    try folder.write("copy", "mine")
    let refused = try sluice("get", try id("plain.txt"), "-o", "copy")
    #expect(
      refused.status == 2 && refused.err.contains("copy is there already") && refused.err.contains("--force"))
    #expect(try folder.read("copy") == "mine")
    #expect(try sluice("get", try id("plain.txt"), "--force", "-o", "copy").status == 0)
    #expect(try folder.read("copy") == "grüße\n")
  }

  @Test func whatIsNoFileOfTheUsersIsNotWritten() throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: "in/plain.txt")
    for (file, says) in [
      ("in", "is a folder"), ("link", "is no regular file"), ("/dev/full", "is no regular file"),
      ("home/store/x", "is the store of this home"),
      ("home/sluice.db", "is the file 'sluice.db' of this home"),
      ("copy/", "names no file"),
    ] {
      let outcome = try sluice("get", try id("plain.txt"), "--force", "-o", file)
      #expect(outcome.status == 2 && outcome.err.contains(says), "\(file): \(outcome.err)")
    }
    let nowhere = try sluice("get", try id("plain.txt"), "-o", "nowhere/copy")
    #expect(nowhere.status == 78 && nowhere.err.contains("nowhere/copy cannot be written: No such file"))
    #expect(try folder.read("in/plain.txt") == "grüße\n")
  }

  @Test(arguments: ["changed", "shorter", "longer", "gone", "a link", "a folder"])
  func anObjectThatIsNotAsRecordedIsNotHandedOut(damage: String) throws {
    let object = try object("binary")
    var bytes = Self.binary
    switch damage {
    case "changed": bytes[500_000] ^= 1
    case "shorter": bytes.removeLast()
    case "longer": bytes.append(0)
    default: break
    }
    try FileManager.default.removeItem(atPath: object)
    switch damage {
    case "gone": break
    case "a link":
      try FileManager.default.createSymbolicLink(
        atPath: object, withDestinationPath: folder.path + "/in/binary")
    case "a folder":
      try FileManager.default.createDirectory(atPath: object, withIntermediateDirectories: false)
    default: try bytes.write(to: URL(fileURLWithPath: object))
    }
    for words in [["-o", "copy"], []] {
      let outcome = try SluiceCommand.run(["get", try id("binary"), "--home", "home"] + words, in: folder)
      #expect(outcome.status == 70 && outcome.out.isEmpty, "nothing is printed that was not checked")
      #expect(outcome.err.contains("`sluice verify --home home`"), "\(outcome.err)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy"))
    #expect(try leftovers.isEmpty)
  }

  @Test func anAttachmentWithoutAnObjectSaysWhy() throws {
    let rejected = try sluice("get", try id("empty"))
    #expect(rejected.status == 1 && rejected.out.isEmpty)
    #expect(rejected.err.contains("is rejected (size: empty: the file is empty), and has no object"))
    #expect(rejected.err.contains("`sluice retry \(try id("empty")) --home home`"))
    let queued = try sluice("get", try id("later.txt"))
    #expect(queued.status == 75 && queued.err.contains("is queued, and has no object yet; `sluice show"))
    #expect(try sluice("delete", try id("plain.txt")).status == 0)
    let deleted = try sluice("get", try id("plain.txt"))
    #expect(deleted.status == 2 && deleted.err.contains("was deleted at"), "\(deleted.err)")
    let unknown = try sluice("get", "ffff")
    #expect(unknown.status == 2 && unknown.err.contains("no attachment's id begins with 'ffff'"))
  }

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func aTerminalGetsPlainTextOnly() throws {
    func terminal(_ name: String) throws -> SluiceCommand.Outcome {
      let command = "\(SluiceCommand.folder)/sluice get --home home \(try id(name))"
      return try SluiceCommand.run(["-qec", command, "/dev/null"], in: folder, program: "/usr/bin/script")
    }
    let plain = try terminal("plain.txt")
    #expect(plain.status == 0 && plain.out == "grüße\r\n")
    let binary = try terminal("binary")
    #expect(binary.status == 2 && binary.out.contains("could act on the terminal"), "\(binary.out.count)")
    #expect(!binary.out.contains("\u{1B}"))
  }

  /// Control characters of either kind, bytes that are no UTF-8, and a character that is cut off.
  @Test(
    .enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"),
    arguments: [[0x1B], [0x07], [0x7F], [0xC2, 0x9B], [0xFF], [0xC0, 0x80], [0x61, 0xE2, 0x82]] as [[UInt8]])
  func bytesThatAreNoPlainTextAreKnown(bytes: [UInt8]) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("in/a", Data(bytes))
    try #require(try SluiceCommand.run(["ingest", "in"], in: folder).status == 0)
    let id = try #require(try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments.first)
      .id
    let outcome = try SluiceCommand.run(
      ["-qec", "\(SluiceCommand.folder)/sluice get \(id)", "/dev/null"], in: folder,
      program: "/usr/bin/script")
    #expect(outcome.status == 2, "\(outcome.out)")
  }
}
