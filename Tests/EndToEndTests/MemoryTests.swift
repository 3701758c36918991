import Foundation
import Testing

/// Memory that is no process's: new content belongs to nobody's limit, and is bounded over all attachments.
@Suite(.serialized)
struct MemoryTests {
  private static let hostile = """
    version: 1
    stages:
      - use: hoard
        output: 128MB
        timeout: 60s
      - use: store
        options: { path: "{attachmentId}" }
    retry: { attempts: 2, backoff: 10ms, max: 50ms }
    """

  private func inbox(_ count: Int) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.hostile)
    for number in 0..<count { try folder.write("in/\(number)", "grow \(number)\n") }
    return folder
  }

  @Test(.enabled(if: ControlGroup.isPossible, .init(rawValue: ControlGroup.skipped)))
  func thirtyHostileOutputsCompleteInAGroupOfAGigabyte() throws {
    let folder = try inbox(30)
    let group = try #require(ControlGroup(memory: 1 << 30))
    let words = group.command([
      SluiceCommand.folder + "/sluice", "ingest", "--home", "home", "--format", "json", "in",
    ])
    let outcome = try SluiceCommand.run(
      Array(words.dropFirst()), in: folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()],
      program: words[0])
    #expect(outcome.status == 0, "\(outcome.err.suffix(2000))")
    #expect(outcome.summary["completed"] as? Int == 30)
    #expect(group.kills == 0, "nobody was ended for want of memory")
    AttackTable.add(
      "hoard-outputs", .content, isHeld: group.kills == 0 && outcome.status == 0,
      "30 outputs of 100 MB, each kept by ten descriptors and a map, in a control group of 1 GB")
  }

  /// What is written to after it was handed over, or kept by a thousand descriptors, is memory of nobody.
  @Test func memoryIsGivenBackWhoeverHoldsADescriptorOfIt() throws {
    let folder = try inbox(12)
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder, out: folder.path + "/out",
      err: folder.path + "/err", environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    // Other processes' shared memory is in the same number: what counts is that it does not grow with each attachment.
    let before = Self.sharedMemory()
    var highest = before
    while process.isRunning {
      highest = max(highest, Self.sharedMemory())
      usleep(20_000)
    }
    let errors = try folder.read("err")
    #expect(process.terminationStatus == 0, "\(errors.suffix(2000))")
    let limit = min(Self.total() / 4, 12 * (100 << 20))
    #expect(highest - before <= limit + (300 << 20), "\((highest - before) >> 20) MB for 12 of 100 MB")
  }

  /// Bytes of memory of no process, by /proc/meminfo.
  private static func sharedMemory() -> Int { number("Shmem:") }
  private static func total() -> Int { number("MemTotal:") }

  private static func number(_ name: String) -> Int {
    let text = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
    return (line.split(separator: " ").compactMap { Int($0) }.first ?? 0) << 10
  }

  @Test func aLimitOnAllLetsOneAtATimeThrough() throws {
    let folder = try inbox(8)
    try folder.write("pipeline.yaml", Self.hostile + "\nmemory-total: 128MB\n")
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder, out: folder.path + "/out",
      err: folder.path + "/err", environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let before = Self.sharedMemory()
    var highest = before
    while process.isRunning {
      highest = max(highest, Self.sharedMemory())
      usleep(10_000)
    }
    let errors = try folder.read("err")
    #expect(process.terminationStatus == 0, "\(errors)")
    #expect(highest - before <= 300 << 20, "\((highest - before) >> 20) MB with a limit of 128")
  }

  /// Two stages in a row that make new content: what the first made waits for the second, and nothing waits for ever.
  @Test func twoStagesInARowThatMakeContentDoNotWaitForEachOther() throws {
    let folder = try inbox(6)
    try folder.write(
      "pipeline.yaml",
      Self.hostile.replacingOccurrences(
        of: "  - use: store",
        with: "  - { use: hoard, id: again, output: 128MB, timeout: 60s }\n  - use: store")
        + "\nmemory-total: 128MB\n")
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.summary["completed"] as? Int == 6)
  }

  @Test func whatAPluginTakesWhileItOpensIsBounded() throws {
    for place in ["IN_OPEN", "IN_CONSTRUCTOR"] {
      let folder = try TemporaryFolder()
      try folder.write("a", "a\n")
      try FixtureStages.compile("start", into: folder.path, ["-DWAY=ALLOCATE", "-D\(place)"])
      let outcome = try SluiceCommand.run(
        ["stages", "run", folder.path + "/libsluice-start.so", "a"], in: folder)
      #expect(outcome.status != 0, "\(place): \(outcome.out)")
      let isHeld = outcome.err.contains("out-of-memory")
      #expect(isHeld, "\(place): \(outcome.err)")
      AttackTable.add(
        "allocate \(place == "IN_OPEN" ? "open" : "loading")", .content, isHeld: isHeld, outcome.err)
    }
  }

  @Test func aStageThatConnectsMayHaveSomeThreads() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/few", "20\n")
    try folder.write("in/many", "300\n")
    try folder.write(
      "pipeline.yaml",
      "version: 1\nstages: [{ use: threads, timeout: 20s }]\nretry: { attempts: 1 }\n")
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let records = outcome.attachments.map { Inbox.Record(json: $0) }
    #expect(records.first { $0.fileName == "few" }?.status == "completed", "\(outcome.out)")
    let many = records.first { $0.fileName == "many" }
    #expect(many?.status == "rejected" && many?.code == "too-many-threads", "\(outcome.out)")
    #expect(many?.message.contains("and may have 64") == true, "\(many?.message ?? "")")
    AttackTable.add("threads", .network, isHeld: many?.code == "too-many-threads", many?.message ?? "")
  }
}
