import Foundation
import Testing

/// `sluice pause`, `resume` and `retry`, alone and beside a coordinator.
@Suite(.serialized)
struct QueueVerbTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("in/a.txt", "one text\n")
    try folder.write("in/b.txt", "another text\n")
  }

  @discardableResult
  private func sluice(_ words: String..., input: String = "") throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, input: input)
  }

  @discardableResult
  private func ingest(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--config", "pipeline.yaml", "--format", "json", "--sender", "ann",
        "--participants", "ann,ben",
      ] + words, in: folder)
  }

  private func enqueue(_ path: String) throws -> SluiceCommand.Outcome {
    try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", path)
  }

  private func id(of name: String) throws -> String {
    let line = try #require(
      try sluice("list", "--format", "json").records(Printed.Attachment.self).first { $0.fileName == name })
    return line.id
  }

  @Test func aLaneThatAPersonHasPausedStaysSoUntilAPersonResumesIt() throws {
    try #require(try enqueue("in/a.txt").status == 0)
    let paused = try sluice("pause", "attachments", "--reason", "the disk is being moved")
    #expect(paused.status == 0 && paused.out.contains("`sluice resume attachments --home home` lifts it"))
    #expect(try sluice("pause", "attachments").out == "attachments: was paused before\n")
    for _ in 0..<2 {
      let run = try ingest("in/b.txt")
      #expect(run.status == 75 && run.attachments.isEmpty, "\(run.err)")
    }
    let status = try sluice("status").out
    #expect(
      status.contains("paused: the disk is being moved")
        && status.contains("`sluice resume attachments --home home`"))
    #expect(try sluice("resume", "attachments").out == "attachments: resumed\n")
    #expect(try sluice("resume", "attachments").out == "attachments: was not paused\n")
    let run = try ingest("in/a.txt")
    #expect(run.attachments.count == 2 && run.attachments.allSatisfy { $0.isCompleted }, "\(run.err)")
  }

  /// There is nothing to fetch: the answer says so, and its place in the queue stays.
  @Test func whatHasNoLinkIsNotPutBeforeOthers() throws {
    try #require(try enqueue("in/a.txt").status == 0)
    let id = try id(of: "a.txt")
    #expect(
      try sluice("now", id).out == "1 attachment there before, ended meanwhile, or without a link\n")
    let record = try sluice("now", id, "--format", "json").out
    #expect(record.contains(#""matched":1,"changed":0,"unchanged":1,"#), "\(record)")
    #expect(try sluice("now", "--status", "queued").out == "0 attachments put before all others\n")
    #expect(
      try sluice("prioritize", id, "--priority", "0").out
        == "1 attachment had it before or ended meanwhile\n")
  }

  @Test func aRunningCoordinatorPausesAndResumesAtOnce() throws {
    let resident = try Resident(folder)
    #expect(try sluice("pause", "attachments").status == 0)
    try #require(try enqueue("in/a.txt").status == 0)
    usleep(500_000)
    #expect(resident.ended.isEmpty && resident.errors.contains("paused: attachments: a person paused it"))
    #expect(try sluice("resume", "attachments").status == 0)
    try resident.wait(for: 1)
    #expect(resident.stop() == 0)
  }

  @Test func whatWasRejectedIsTriedAgainUnderAnotherPipeline() throws {
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "100MB", with: "9B"))
    let first = try ingest("in")
    #expect(first.status == 1 && first.attachments.count { $0.status == "rejected" } == 1, "\(first.err)")
    let id = try id(of: "b.txt")
    try folder.write("pipeline.yaml", Pipelines.open)
    let retried = try sluice("retry", String(id.prefix(30)))
    #expect(retried.out == "1 attachment queued again\n", "\(retried.err)")
    #expect(try sluice("retry", id).out == "1 attachment queued already\n")
    let second = try ingest("in")
    #expect(second.attachments.map(\.id) == [id] && second.attachments[0].isCompleted, "\(second.err)")
    let told = try folder.read("home/events.jsonl").split(separator: "\n").filter { $0.contains(id) }
    #expect(told.count { $0.contains("attachment.rejected") } == 1)
    #expect(told.count { $0.contains("attachment.completed") } == 1)
    #expect(try sluice("verify").status == 0)
  }

  @Test func whatCannotBeDoneIsSaid() throws {
    try #require(try ingest("in/a.txt").status == 0)
    let id = try id(of: "a.txt")
    let completed = try sluice("retry", id)
    #expect(completed.status == 1 && completed.err.contains("is completed: there is nothing to try again"))
    let unknown = try sluice("retry", "ffffffff")
    #expect(unknown.status == 2 && unknown.err.contains("ffffffff"))
    let lane = try sluice("pause", "channel:nobody")
    #expect(lane.status == 1 && lane.err.contains("there is no lane 'channel:nobody'"))
    #expect(try sluice("pause", "nothing").status == 2)
    let nowhere = try SluiceCommand.run(["pause", "attachments", "--home", "nowhere"], in: folder)
    #expect(nowhere.status == 2 && nowhere.err.contains("nowhere has no ledger"))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/nowhere"))
  }

  @Test func anIngestTakesInWhatOthersEnqueue() throws {
    let out = folder.path + "/ingest.out"
    // It waits for more lines.
    mkfifo(folder.path + "/lines", 0o600)
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--config", "pipeline.yaml", "--format", "json", "--manifest", "lines"],
      in: folder, out: out, err: folder.path + "/ingest.err")
    let lines = try #require(FileHandle(forWritingAtPath: folder.path + "/lines"))
    try lines.write(
      contentsOf: Data(#"{"path": "in/a.txt", "senderId": "ann", "conversationId": "c"}\#n"#.utf8))
    try Resident.wait("the first has ended") { try folder.read("ingest.out").contains("a.txt") }
    #expect(try enqueue("in/b.txt").out == "1 queued\n")
    try Resident.wait("the other has ended") { try folder.read("ingest.out").contains("b.txt") }
    try lines.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test(arguments: [19, 20])
  func whatWasInHandOfTwentyLostCoordinatorsIsHeld(losses: Int) throws {
    try #require(try enqueue("in/a.txt").status == 0)
    try Inbox.execute("UPDATE jobs SET losses = \(losses)", on: folder.path + "/home/sluice.db")
    let run = try ingest("in/a.txt")
    #expect(run.attachments.map(\.status) == [losses < 20 ? "completed" : "quarantined"], "\(run.err)")
    if losses < 20 { return }
    #expect(run.out.contains(#""code":"interrupted""#))
    #expect(try sluice("retry", try id(of: "a.txt")).status == 0)
    #expect(
      try ingest("in/a.txt").attachments.map(\.status) == ["completed"],
      "a new set of attempts, without the losses")
  }
}
