import Foundation
import Testing

/// `sluice retry`, `cancel`, `prioritize`, `delete` and `prune`, by id and by filter, alone and beside a coordinator.
@Suite(.serialized)
struct AttachmentVerbTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for name in ["a", "b", "c"] { try folder.write("in/\(name).txt", "the text of \(name)\n") }
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  @discardableResult
  private func ingest(_ words: String..., environment: [String: String] = [:]) throws -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--config", "pipeline.yaml", "--format", "json", "--sender", "ann",
        "--participants", "ann,ben",
      ] + words, in: folder, environment: environment)
  }

  private func listed(_ options: String...) throws -> [Printed.Attachment] {
    try SluiceCommand.run(["list", "--home", "home", "--format", "json"] + options, in: folder)
      .records(Printed.Attachment.self)
  }

  private func id(of name: String) throws -> String {
    try #require(try listed().first { $0.fileName == name }).id
  }

  private func told(_ type: String) throws -> Int {
    try folder.read("home/events.jsonl").split(separator: "\n").count {
      $0.contains("\"attachment.\(type)\"")
    }
  }

  /// A coordinator with the stage that does what the content says.
  private func misbehaving() throws -> Resident {
    try folder.write(
      "pipeline.yaml", Pipelines.telling("- use: misbehave\n  timeout: 60s", more: "workers: 1"))
    return try Resident(folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
  }

  // MARK: Filters

  @Test func eachFilterSaysWhichAttachmentsAreMeant() throws {
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "100MB", with: "18B"))
    try folder.write("in/long.txt", "a text that is longer than that\n")
    try #require(try ingest("--conversation", "team", "in").status == 1)
    func names(_ options: String...) throws -> [String] {
      try SluiceCommand.run(["list", "--home", "home", "--format", "json"] + options, in: folder)
        .records(Printed.Attachment.self).map(\.fileName).sorted()
    }
    let short = ["a.txt", "b.txt", "c.txt"]
    #expect(try names("--status", "completed") == short)
    #expect(try names("--code", "too-large") == ["long.txt"])
    #expect(try names("--stage", "size") == ["long.txt"])
    #expect(try names("--stage", "pdf").isEmpty)
    // What is rejected for its length alone is not looked at.
    #expect(try names("--type", "text/*") == short)
    #expect(try names("--type", "image/*").isEmpty)
    #expect(try names("--conversation", "team").count == 4)
    #expect(try names("--conversation", "other").isEmpty)
    #expect(try names("--name", "[ab].txt") == ["a.txt", "b.txt"])
    #expect(try names("--since", "1h").count == 4)
    #expect(try names("--until", "2020-01-31").isEmpty)
    #expect(try names("--name", "*.txt", "--status", "completed", "--limit", "2").count == 2)
    let sha256 = try #require(try listed("--name", "b.txt").first?.sha256)
    #expect(try names("--sha256", sha256) == ["b.txt"])
    #expect(try names(String(try id(of: "c.txt").prefix(36))) == ["c.txt"])
    for wrong in [["--since", "yesterday"], ["--sha256", "abc"], ["--limit", "0"], ["--status", "gone"]] {
      #expect(try SluiceCommand.run(["list", "--home", "home"] + wrong, in: folder).status == 2)
    }
  }

  @Test func aVerbWithoutAFilterAsksForOne() throws {
    try #require(try ingest("in/a.txt").status == 0)
    for verb in [["retry"], ["cancel"], ["delete"], ["prioritize", "--priority", "1"]] {
      let outcome = try SluiceCommand.run(verb + ["--home", "home"], in: folder)
      #expect(outcome.status == 2 && outcome.err.contains("say which attachments"), "\(verb)")
    }
    #expect(
      try sluice("delete", "--status", "completed", "--dry-run").out
        == "1 attachment would be deleted, at most\n")
    #expect(try listed().count == 1)
  }

  // MARK: Retry

  @Test func oneCommandPutsRightWhatARaisedLimitAllows() throws {
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "100MB", with: "1B"))
    try #require(try ingest("in").status == 1)
    try folder.write("pipeline.yaml", Pipelines.open)
    #expect(try sluice("retry", "--code", "too-small").out == "0 attachments queued again\n")
    #expect(try sluice("retry", "--code", "too-large").out == "3 attachments queued again\n")
    #expect(try sluice("retry", "--status", "queued").out == "3 attachments queued already\n")
    let second = try ingest("in")
    #expect(second.status == 0 && second.attachments.count == 3, "\(second.err)")
    let json = try sluice("retry", "--status", "rejected", "--format", "json").out
    #expect(
      json == #"{"record":"retry","dryRun":false,"matched":0,"changed":0,"unchanged":0,"refused":[]}"# + "\n")
  }

  @Test func whatTheDifferenceShowsIsAppliedAndNothingElse() throws {
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "100MB", with: "1B"))
    try #require(try ingest("in").status == 1)
    let same = try sluice("replay", "--config", "pipeline.yaml", "--diff", "--apply")
    #expect(same.status == 0 && same.out.contains("0 attachments queued again"), "\(same.err)")
    try folder.write("pipeline.yaml", Pipelines.open)
    let applied = try sluice("replay", "--config", "pipeline.yaml", "--diff", "--apply", "--name", "[ab].txt")
    #expect(applied.status == 0 && applied.out.contains("2 attachments queued again"), "\(applied.err)")
    #expect(try listed("--status", "queued").map(\.fileName).sorted() == ["a.txt", "b.txt"])
  }

  // MARK: Cancel

  @Test func whatWaitsIsCancelledAndItsParticipantsAreTold() throws {
    try #require(try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", "in").status == 0)
    let id = try id(of: "b.txt")
    #expect(try sluice("cancel", id, "--reason", "a mistake").out == "1 attachment cancelled\n")
    #expect(try sluice("cancel", id).out == "1 attachment cancelled or ended already\n")
    let run = try ingest("in")
    #expect(run.status == 1 && run.attachments.count == 3, "\(run.err)")
    let cancelled = try #require(try listed("--status", "cancelled").first)
    #expect(cancelled.id == id && cancelled.reason?.code == "cancelled")
    #expect(cancelled.reason?.message.hasSuffix("took it back: a mistake") == true)
    #expect(try told("cancelled") == 1 && told("completed") == 2)
    #expect(try sluice("cancel", try self.id(of: "a.txt")).err.contains("is completed: it has ended"))
    // A person may change their mind.
    #expect(try sluice("retry", id).out == "1 attachment queued again\n")
    #expect(try ingest("in").status == 0)
    #expect(try sluice("verify").status == 0)
  }

  @Test(arguments: ["obey", "sleep"])
  func aStageAtWorkIsTold(act: String) throws {
    let resident = try misbehaving()
    try folder.write("in/slow.txt", "misbehave \(act)\n")
    try #require(
      try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", "in/slow.txt").status == 0)
    try Resident.wait("the stage is at work") {
      try sluice("status").out.contains("the longest is misbehave")
    }
    // Before others are started, which take the place of what takes long for a while.
    let workers = Set(Inbox.workers(of: resident.process.processIdentifier))
    try #require(
      try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", "in/a.txt").status == 0)
    usleep(700_000)
    #expect(try sluice("cancel", "--name", "slow.txt").out == "1 attachment cancelled\n")
    try resident.wait(for: 2, seconds: 10)
    // A stage that asks ends by itself. The worker of one that does not ask is ended after two seconds.
    let isLeft = workers.isSubset(of: Inbox.workers(of: resident.process.processIdentifier))
    #expect(isLeft == (act == "obey"))
    #expect(resident.ended.contains { $0.fileName == "slow.txt" && $0.status == "cancelled" })
    #expect(resident.ended.contains { $0.fileName == "a.txt" && $0.isCompleted })
    #expect(resident.stop() == 0)
    #expect(try told("cancelled") == 1)
    #expect(try sluice("verify").status == 0)
  }

  @Test func aLaneIsEmptied() throws {
    try #require(try sluice("enqueue", "in").status == 0)
    try sluice("pause", "attachments")
    #expect(try sluice("reset", "attachments").out == "3 attachments cancelled\n")
    #expect(try sluice("list", "--status", "queued").out.split(separator: "\n").count == 3)
    try sluice("resume", "attachments")
    #expect(try ingest("in/a.txt").attachments.allSatisfy { $0.status == "cancelled" })
    #expect(try listed("--status", "cancelled").count == 3)
  }

  // MARK: Prioritize

  @Test func theHighestPriorityIsNext() throws {
    try folder.write("pipeline.yaml", Pipelines.open + "\nworkers: 1\n")
    for name in ["a", "b", "c"] { try #require(try sluice("enqueue", "in/\(name).txt").status == 0) }
    #expect(
      try sluice("prioritize", "--name", "c.txt", "--priority", "5").out
        == "1 attachment given the priority\n")
    #expect(try sluice("prioritize", "--name", "a.txt", "--priority", "-5").status == 0)
    #expect(try sluice("prioritize", "--name", "a.txt").status == 2)
    let run = try SluiceCommand.run(
      ["ingest", "--home", "home", "--config", "pipeline.yaml", "--format", "json", "--manifest", "-"],
      in: folder)
    #expect(run.attachments.map(\.fileName) == ["c.txt", "b.txt", "a.txt"], "\(run.err)")
  }

  // MARK: Delete

  /// Whether any file of the home has one of these texts.
  private func finds(_ texts: [String]) throws -> [String] {
    var found: [String] = []
    let paths = try #require(FileManager.default.enumerator(atPath: folder.path + "/home")).compactMap {
      $0 as? String
    }
    for path in paths where !path.hasSuffix("events.jsonl") {
      found += texts.filter { path.contains($0) }
      guard let data = FileManager.default.contents(atPath: folder.path + "/home/" + path) else { continue }
      found += texts.filter { data.range(of: Data($0.utf8)) != nil }.map { "\($0) in \(path)" }
    }
    return found
  }

  private func takeInCanaries() throws -> [String] {
    for number in 0..<40 { try folder.write("in/other-\(number).txt", "canary-content another \(number)\n") }
    try folder.write("in/canary-name.txt", "canary-content and more\n")
    try #require(try ingest("--conversation", "others", "in").status == 0)
    try folder.write("canary-folder/canary-name.txt", "canary-content of its own\n")
    let manifest = #"""
      {"path": "canary-folder/canary-name.txt", "conversationId": "canary-conversation", "senderId": "canary-sender", \#
      "participants": ["canary-participant"], "text": "canary-text", "reference": "canary-reference"}
      """#
    try folder.write("manifest.jsonl", manifest + "\n")
    let run = try ingest("--manifest", "manifest.jsonl")
    try #require(run.status == 0, "\(run.err)")
    return ["conversation", "sender", "participant", "text", "reference", "folder"].map { "canary-\($0)" } + [
      "canary-content of its own"
    ]
  }

  @Test func nothingOfWhatIsDeletedIsLeft() throws {
    let canaries = try takeInCanaries()
    #expect(try Set(finds(canaries).map { $0.prefix { $0 != " " } }).count >= 6)
    let id = try #require(try listed("--conversation", "canary-conversation").first?.id)
    #expect(try sluice("delete", id).out == "1 attachment deleted\n")
    #expect(try finds(canaries) == [])
    let shown = try sluice("show", id)
    #expect(shown.out.contains("status        deleted\n"), "\(shown.out)\(shown.err)")
    #expect(
      try sluice("delete", id).out
        == "1 attachment deleted before, or changed meanwhile and left\n")
    #expect(try sluice("delete", "--conversation", "canary-conversation").out == "0 attachments deleted\n")
    #expect(try listed().count == 44)
    #expect(try sluice("verify").status == 0)
    // The same file is not taken in again, until it is another.
    #expect(try ingest("--manifest", "manifest.jsonl").attachments.isEmpty)
    #expect(try listed().count == 44)
    try folder.write("canary-folder/canary-name.txt", "canary-content of its own, later\n")
    #expect(try ingest("--manifest", "manifest.jsonl").attachments.count == 1)
  }

  @Test func aRunningCoordinatorLeavesNothingEither() throws {
    let canaries = try takeInCanaries()
    let resident = try Resident(folder)
    #expect(try sluice("delete", "--conversation", "canary-conversation").out == "1 attachment deleted\n")
    try Resident.wait("nothing is left") { try finds(canaries).isEmpty }
    #expect(try listed().count == 44)
    #expect(resident.stop() == 0)
    #expect(try sluice("verify").status == 0)
  }

  /// A coordinator that was killed between its commit and the rename has left the object in the store's incoming folder.
  /// A killed coordinator leaves files of uploads and transfers without a record.
  @Test func whatAKilledCoordinatorReceivedIsDeletedToo() throws {
    _ = try takeInCanaries()
    let left = ["uploads/\(String(repeating: "ab", count: 16))", "downloads/99.part"]
    for name in left { try folder.write("home/\(name)", "a part of a content\n") }
    #expect(try sluice("delete", "--conversation", "canary-conversation").status == 0)
    #expect(left.allSatisfy { !FileManager.default.fileExists(atPath: "\(folder.path)/home/\($0)") })
  }

  @Test func anObjectWithoutItsPathIsDeletedToo() throws {
    try ingest("in")
    let id = try id(of: "b.txt")
    let object = try #require(try listed().first { $0.id == id }?.url)
    let staged = folder.path + "/home/store/.incoming/\(id)"
    try FileManager.default.moveItem(atPath: folder.path + "/home/store/" + object, toPath: staged)
    #expect(try sluice("delete", id).out == "1 attachment deleted\n")
    #expect(!folder.files(below: "home/store").contains { $0.hasPrefix(".incoming/") })
    #expect(folder.files(below: "home/store").count == 2)
    // As where the power failed before that was on disk.
    try folder.write("home/store/.incoming/\(id)", "the text of b\n")
    let repaired = try sluice("verify", "--repair")
    #expect(
      repaired.status == 0 && repaired.out.contains("deleted, as its attachment was"), "\(repaired.out)")
    #expect(folder.files(below: "home/lost+found").isEmpty)
  }

  @Test func anObjectThatOthersHaveStays() throws {
    try folder.write("in/twin.txt", "the text of a\n")
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(
        of: "documents/{conversationId}/{messageId}/document.{extension}", with: "by-content/{sha256}"))
    try #require(try ingest("in").status == 0)
    #expect(try sluice("delete", "--name", "a.txt").out == "1 attachment deleted\n")
    let twin = try #require(try listed("--name", "twin.txt").first?.url)
    #expect(try folder.read("home/store/\(twin)") == "the text of a\n")
    #expect(try sluice("verify").status == 0)
    #expect(try sluice("delete", "--name", "twin.txt").status == 0)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home/store/\(twin)"))
  }

  @Test func whatIsInHandIsDeletedToo() throws {
    let resident = try misbehaving()
    try folder.write("in/slow.txt", "misbehave obey\n")
    try #require(try sluice("enqueue", "--participants", "ben", "in/slow.txt", "in/a.txt").status == 0)
    // The other waits behind it in the same worker.
    usleep(800_000)
    #expect(try sluice("delete", "--name", "slow.txt").out == "1 attachment deleted\n")
    try Resident.wait("it has let go") { try sluice("status").out.contains("0 due, 0 scheduled, 0 leased") }
    #expect(resident.stop() == 0)
    #expect(resident.ended.map(\.fileName) == ["a.txt"])
    #expect(try listed().map(\.fileName) == ["a.txt"])
    #expect(try sluice("verify").status == 0)
  }

  // MARK: Prune

  @Test func theCoordinatorKeepsWhatThePipelineKeeps() throws {
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "100MB", with: "14B"))
    try folder.write("in/long.txt", "a text that is longer than that\n")
    try #require(try ingest("in").status == 1)
    let none = try sluice("prune", "--config", "pipeline.yaml")
    #expect(none.status == 78 && none.err.contains("has no 'keep'"))
    try folder.write("pipeline.yaml", Pipelines.open + "\nkeep: { rejected: 1s }\n")
    usleep(1_100_000)
    #expect(
      try sluice("prune", "--config", "pipeline.yaml", "--dry-run").out
        == "1 attachment with 32 B would be deleted: 1 rejected\n")
    let resident = try Resident(folder)
    try Resident.wait("it is pruned") { try listed("--status", "rejected").isEmpty }
    #expect(try listed().count == 3)
    #expect(resident.stop() == 0, "\(resident.errors)")
    try folder.write("pipeline.yaml", Pipelines.open + "\nkeep: { completed: 1s, bytes: 1MB }\n")
    #expect(
      try sluice("prune", "--config", "pipeline.yaml").out == "3 attachments with 42 B deleted: 3 completed\n"
    )
  }
}
