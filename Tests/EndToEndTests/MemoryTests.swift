import Foundation
import Testing

/// Memory outside of processes: new content counts against no process's limit, and is bounded over all
/// attachments.
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

  private static let twice = hostile.replacingOccurrences(
    of: "  - use: store", with: "  - { use: hoard, id: again, output: 128MB, timeout: 60s }\n  - use: store")

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
    #expect(try outcome.summary.completed == 30)
    #expect(group.kills == 0, "nobody was ended for want of memory")
    AttackTable.add(
      "hoard-outputs", .content, isHeld: group.kills == 0 && outcome.status == 0,
      "30 outputs of 100 MB, each kept by ten descriptors and a map, in a control group of 1 GB")
  }

  /// Content that is written to after it was passed on, or kept by many descriptors and maps, uses memory of
  /// no process. This holds for a stage's output and for its input.
  @Test func memoryIsGivenBackWhoeverHoldsADescriptorOfIt() throws {
    let folder = try inbox(12)
    try folder.write("pipeline.yaml", Self.twice + "\nmemory-total: 256MB\n")
    let growth = try ingest(folder)
    #expect(growth <= 600 << 20, "\(growth >> 20) MB for 24 of 100 MB, of which 256 may be held")
  }

  @Test func aLimitOnAllLetsOneAtATimeThrough() throws {
    let folder = try inbox(8)
    try folder.write("pipeline.yaml", Self.hostile + "\nmemory-total: 128MB\n")
    let growth = try ingest(folder)
    #expect(growth <= 300 << 20, "\(growth >> 20) MB with a limit of 128")
  }

  /// Runs an ingest, which must succeed, and returns by how many bytes the memory outside of processes grew. Without a control
  /// group, the shared memory of all other processes counts, too.
  private func ingest(_ folder: TemporaryFolder) throws -> Int {
    let group = ControlGroup(memory: 8 << 30)
    func shared() -> Int { group?.sharedMemory ?? Self.sharedMemory() }
    var words = ["ingest", "--home", "home", "--format", "json", "in"]
    if let group { words = Array(group.command([SluiceCommand.folder + "/sluice"] + words).dropFirst()) }
    let before = shared()
    let process = try SluiceCommand.start(
      words, in: folder, out: folder.path + "/out", err: folder.path + "/err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()],
      program: group == nil ? SluiceCommand.folder + "/sluice" : "/bin/sh")
    var highest = before
    while process.isRunning {
      highest = max(highest, shared())
      usleep(10_000)
    }
    let errors = try folder.read("err")
    #expect(process.terminationStatus == 0, "\(errors.suffix(2000))")
    return highest - before
  }

  /// Bytes of shared memory, by /proc/meminfo.
  private static func sharedMemory() -> Int { number("Shmem:") }

  private static func number(_ name: String) -> Int {
    let text = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
    return (line.split(separator: " ").compactMap { Int($0) }.first ?? 0) << 10
  }

  /// Two consecutive stages that make new content: the content of the first waits for the second, and nothing
  /// waits for ever.
  @Test func twoStagesInARowThatMakeContentDoNotWaitForEachOther() throws {
    let folder = try inbox(6)
    try folder.write("pipeline.yaml", Self.twice + "\nmemory-total: 128MB\n")
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(try outcome.summary.completed == 6)
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
      Pipelines.only("threads, timeout: 20s", more: "retry: { attempts: 1 }"))
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let records = outcome.attachments
    #expect(records.first { $0.fileName == "few" }?.status == "completed", "\(outcome.out)")
    let many = records.first { $0.fileName == "many" }
    #expect(many?.status == "rejected" && many?.code == "too-many-threads", "\(outcome.out)")
    #expect(many?.message.contains("and may have 64") == true, "\(many?.message ?? "")")
    AttackTable.add("threads", .network, isHeld: many?.code == "too-many-threads", many?.message ?? "")
  }
}
