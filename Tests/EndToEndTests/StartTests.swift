import Foundation
import Testing

/// What a start of `sluice ingest` does before it works.
struct StartTests {
  private let folder: TemporaryFolder
  private var log: String { folder.path + "/workers" }

  /// An installation of its own, whose worker writes down each start, and `sluice` in it.
  private let program: String

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("a.txt", "a text\n")
    let bin = folder.path + "/bin"
    program = bin + "/sluice"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    for name in ["sluice"]
      + ["digest", "mime", "size", "pdf", "store", "notify", "jsonl"].map({ "libsluice-\($0).so" })
    {
      let file = URL(fileURLWithPath: SluiceCommand.folder + "/" + name).resolvingSymlinksInPath().path
      try FileManager.default.copyItem(atPath: file, toPath: bin + "/" + name)
    }
    // Its id stays what it is: a worker ends with the process that has started it.
    try folder.write(
      "bin/sluice-worker",
      "#!/bin/sh\necho \"$1 $$\" >> '\(log)'\nexec '\(SluiceCommand.folder)/sluice-worker' \"$@\"\n")
    chmod(bin + "/sluice-worker", 0o755)
  }

  private var environment: [String: String] { ["XDG_CACHE_HOME": folder.path + "/cache"] }

  /// Runs a command; returns what the workers that it started were for.
  private func workers(
    _ words: [String], status: Int32 = 0, environment: [String: String]? = nil
  ) throws -> [String] {
    unlink(log)
    let outcome = try SluiceCommand.run(
      words, in: folder, environment: environment ?? self.environment, program: program)
    #expect(outcome.status == status, "\(outcome.err)")
    let lines = ((try? folder.read("workers")) ?? "").split(separator: "\n")
    for line in lines {
      let process = try #require(line.split(separator: " ").last.flatMap { Int32($0) })
      #expect(kill(process, 0) != 0, "worker \(process) is still there")
    }
    return lines.compactMap { $0.split(separator: " ").first.map(String.init) }.sorted()
  }

  private func ingest(_ home: String) -> [String] { ["ingest", "--home", home, "a.txt"] }

  /// One for each group of stages and channel; none is started twice.
  private static let working = ["run", "run", "run", "run", "run"]
  private static let asking = ["describe", "describe"]

  /// Longer than a change of a file may stay unseen.
  private func letSettle() { usleep(2_300_000) }

  @Test func pluginsAreAskedOnce() throws {
    #expect(try workers(ingest("one")) == Self.asking + Self.working)
    #expect(folder.files(below: "cache").isEmpty, "they have just been changed")
    letSettle()
    #expect(try workers(ingest("one")) == Self.asking + Self.working)
    #expect(folder.files(below: "cache") == ["sluice/plugins"])
    #expect(try workers(ingest("one")) == Self.working)
    #expect(try workers(ingest("two")) == Self.working, "a new home")
    #expect(try workers(ingest("two"), environment: [:]) == Self.asking + Self.working, "no cache")
    // One that is built anew is asked, and the others are not.
    let size = folder.path + "/bin/libsluice-size.so"
    try FileManager.default.moveItem(atPath: size, toPath: size + ".old")
    try FileManager.default.copyItem(atPath: size + ".old", toPath: size)
    #expect(try workers(ingest("two")) == ["describe"] + Self.working)
    letSettle()
    #expect(try workers(ingest("two")) == ["describe"] + Self.working)
    #expect(try workers(ingest("two")) == Self.working)
    // Commands that check ask each.
    #expect(try workers(["lint"]).filter { $0 == "describe" } == Self.asking)
    #expect(try workers(["graph"]) == Self.asking)
  }

  @Test func aDamagedOrUnwritableCacheIsDoneWithout() throws {
    letSettle()
    _ = try workers(ingest("one"))
    try #require(try workers(ingest("one")) == Self.working)
    try folder.write("cache/sluice/plugins", "sluice plugins 2\nis not this")
    chmod(folder.path + "/cache/sluice/plugins", 0o600)
    #expect(try workers(ingest("one")) == Self.asking + Self.working)
    #expect(try workers(ingest("one")) == Self.working, "it was made anew")
    let inTheWay = try folder.write("file", "")
    for place in [inTheWay, "/proc/self"] {
      #expect(
        try workers(ingest("one"), environment: ["XDG_CACHE_HOME": place]) == Self.asking + Self.working)
    }
  }

  @Test func startsSideBySideBothWork() throws {
    letSettle()
    let running = try (0..<4).map { number in
      try SluiceCommand.start(
        ingest("home\(number)"), in: folder, out: folder.path + "/out\(number)",
        err: folder.path + "/err\(number)", environment: environment, program: program)
    }
    for process in running {
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
    #expect(folder.files(below: "cache") == ["sluice/plugins"])
    #expect(try workers(ingest("home0")) == Self.working)
  }

  @Test func workersThatWereStartedEarlyEndWithARefusedIngest() throws {
    try folder.write("home/sluice.db", "this is no ledger, and it is longer than the header of one would be")
    let started = try workers(ingest("home"), status: 70)
    // On a busy machine the ledger is refused before any is started.
    let count = started.filter { $0 == "run" }.count
    #expect(count <= 3, "those that get no folder: \(started)")
    // Of those that write nothing was started: nothing is made beside a ledger that cannot be used.
    #expect(!folder.files(below: "home").contains("events.jsonl"))
  }
}
