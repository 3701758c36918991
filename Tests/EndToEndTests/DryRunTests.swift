import Foundation
import Testing

/// `ingest --dry-run` says what an ingest would do, and does nothing; `--limit` takes in a part.
struct DryRunTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.telling("- { use: size, options: { max: 1KB } }"))
    for number in 0..<4 { try folder.write("in/\(number).txt", "text number \(number)\n") }
    try folder.write("in/long.txt", String(repeating: "long\n", count: 500))
  }

  private func ingest(_ words: String..., paths: [String] = ["in"]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["ingest", "--home", "home", "--format", "json"] + words + paths, in: folder,
      environment: ["TMPDIR": folder.path + "/tmp"])
  }

  private func dryRun(_ words: String...) throws -> (Printed.DryRun, SluiceCommand.Outcome) {
    try FileManager.default.createDirectory(atPath: folder.path + "/tmp", withIntermediateDirectories: true)
    let outcome = try SluiceCommand.run(
      ["ingest", "--dry-run", "--home", "home", "--format", "json"] + words, in: folder,
      environment: ["TMPDIR": folder.path + "/tmp"])
    return (try outcome.last(Printed.DryRun.self), outcome)
  }

  @Test func whatTheStagesWouldSayIsToldAndNothingIsMade() throws {
    let (sum, outcome) = try dryRun("in", "missing")
    #expect(outcome.status == 1)
    #expect(
      sum.files == 5 && sum.completed == 4 && sum.rejected == 1 && sum.known == 0 && sum.notTakenIn == 1)
    #expect(sum.sizeBytes == 4 * 14 + 2500 && !sum.more)
    let rehearsals = outcome.records(Printed.Rehearsal.self)
    #expect(
      rehearsals.map { ($0.source as NSString).lastPathComponent } == (0..<4).map { "\($0).txt" } + [
        "long.txt"
      ])
    #expect(rehearsals.last?.reason?.code == "too-large" && rehearsals.first?.mediaType == "text/plain")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"))
    #expect(folder.files(below: "tmp").isEmpty, "what the stages wrote is gone")
  }

  @Test func whatIsKnownIsNotTriedAndTheLedgerStaysAsItIs() throws {
    #expect(try ingest(paths: ["in/0.txt", "in/long.txt"]).status == 1)
    func state() throws -> [String] {
      try ["list", "status"].map { verb in
        try SluiceCommand.run([verb, "--home", "home", "--format", "json"], in: folder).out
          .replacing(/"oldestAge[^,]*,/, with: "")
      }
    }
    let before = try state().first
    let events = try folder.read("home/events.jsonl")
    let (sum, outcome) = try dryRun("in", "in/1.txt")
    #expect(sum.files == 3 && sum.completed == 3)
    #expect(
      sum.known == 3 && sum.knownNotCompleted == 1, "two that are on record, and one that is named twice")
    #expect(outcome.status == 1, "one of those that are named was rejected")
    #expect(try state().first == before)
    #expect(try folder.read("home/events.jsonl") == events)
  }

  @Test func peopleGetALineForEachAndTheSums() throws {
    try FileManager.default.createDirectory(atPath: folder.path + "/tmp", withIntermediateDirectories: true)
    let outcome = try SluiceCommand.run(
      ["ingest", "--dry-run", "--home", "home", "--limit", "5", "in"], in: folder,
      environment: ["TMPDIR": folder.path + "/tmp"])
    #expect(
      outcome.out.hasPrefix("completed    \(folder.path)/in/0.txt  text/plain  14 B\n"), "\(outcome.out)")
    #expect(outcome.out.contains("/in/long.txt  2.4 KB  (size: too-large: "), "\(outcome.out)")
    #expect(
      outcome.out.hasSuffix(
        "\n5 new files of 2.5 KB would be taken in: 4 completed, 1 rejected, 0 failed, 0 quarantined\n"
          + "nothing was recorded\n"), "\(outcome.out)")
  }

  @Test func atMostSoManyNewFilesAreTakenInAndThatThereAreMoreIsSaid() throws {
    try FileManager.default.createDirectory(atPath: folder.path + "/tmp", withIntermediateDirectories: true)
    #expect(try dryRun("--limit", "2", "in").0.more)
    let first = try ingest("--limit", "2")
    #expect(try first.summary.total == 2 && first.summary.more && first.status == 0)
    #expect(first.err.contains("more new files are there, beyond --limit; run the same command again"))
    let second = try ingest("--limit", "2", paths: ["in/0.txt", "in/0.txt", "in"])
    #expect(try second.summary.total == 2, "known files do not count")
    #expect(try second.summary.more)
    let third = try ingest("--limit", "1")
    #expect(try third.summary.total == 1 && !third.summary.more && third.summary.known == 4)
    #expect(try SluiceCommand.run(["ingest", "--limit", "0", "in"], in: folder).status == 2)
  }

  @Test func linksAreCountedAndNotFetched() throws {
    let environment = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    let pipeline = try folder.read("pipeline.yaml")
    let manifest =
      ["one", "two", "one"].map { #"{"url":"https://files.example.com/bytes/\#($0)"}"# }
      + [#"{"path":"in/0.txt"}"#]
    try folder.write("list.jsonl", manifest.joined(separator: "\n") + "\n")
    func dryRun(_ words: [String] = []) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(
        ["ingest", "--dry-run", "--home", "home", "--manifest", "list.jsonl"] + words, in: folder,
        environment: environment)
    }
    let without = try dryRun()
    #expect(without.status == 1)
    #expect(without.err.contains("the pipeline fetches no links"), "\(without.err)")
    try folder.write("pipeline.yaml", pipeline + "\nlanes: { downloads: { use: well } }\n")
    let outcome = try dryRun()
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.out.contains("to fetch     https://files.example.com/…\n"))
    #expect(outcome.out.contains("\n1 new file of 14 B would be taken in: 1 completed"), "\(outcome.out)")
    #expect(outcome.out.contains("\n2 links would be fetched, "))
    #expect(!outcome.out.contains("/bytes/"), "a link may hold a secret")
    let json = try dryRun(["--format", "json"])
    #expect(try json.last(Printed.DryRun.self).links == 2)
    #expect(try dryRun(["--limit", "1"]).out.contains("\n1 link would be fetched, "))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"))
  }
}
