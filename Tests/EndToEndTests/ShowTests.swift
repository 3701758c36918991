import Foundation
import Testing

/// `sluice show` and `sluice status` say where something stands, and what leads on.
@Suite(.serialized)
struct ShowTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    try folder.write("in/a.txt", "a text\n")
    try folder.write("in/empty", "")
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func ingested() throws -> [Printed.Attachment] {
    try #require(try sluice("ingest", "--sender", "ann", "--participants", "ann,ben", "in").status == 1)
    return try sluice("list", "--format", "json").attachments
  }

  private func json(_ words: String...) throws -> JSON {
    try JSON(try SluiceCommand.run(["show", "--format", "json", "--home", "home"] + words, in: folder).out)
  }

  @Test func itIsFoundByIdObjectAndSource() throws {
    let record = try #require(try ingested().first { $0.fileName == "a.txt" })
    let url = try #require(record.url)
    for word in [
      record.id, String(record.id.prefix(30)).uppercased(), url, "home/store/\(url)", record.source,
      "in/a.txt",
      "in/../in/a.txt",
    ] {
      let shown = try sluice("show", word)
      #expect(
        shown.status == 0 && shown.out.hasPrefix("id            \(record.id)\n"), "\(word): \(shown.err)")
    }
    // A source is found after it is gone, too.
    try FileManager.default.removeItem(atPath: folder.path + "/in/a.txt")
    #expect(try sluice("show", record.source).status == 0)
    let unknown = try sluice("show", "in/b.txt")
    #expect(
      unknown.status == 2
        && unknown.err.contains("no attachment has the id, the object or the source 'in/b.txt'"))
  }

  @Test func severalFromOneSourceAreListed() throws {
    try #require(try sluice("enqueue", "--conversation", "one", "in/a.txt").status == 0)
    try #require(try sluice("enqueue", "--conversation", "two", "in/a.txt").status == 0)
    let shown = try sluice("show", "in/a.txt")
    #expect(
      shown.status == 2 && shown.err.contains("several attachments come from 'in/a.txt'; give the id of one:")
    )
    for record in try sluice("list", "--format", "json").attachments {
      #expect(shown.err.contains("\(record.id)  queued  a.txt"))
    }
  }

  @Test func aQueuedOneSaysWhatItWaitsFor() throws {
    try #require(try sluice("enqueue", "--priority", "7", "in/a.txt").status == 0)
    let due = try sluice("show", "in/a.txt").out
    #expect(due.contains("queue         due; priority 7\n"), "\(due)")
    #expect(due.contains("no coordinator is running; `sluice run --home home` works the queue"))
    try sluice("pause", "attachments", "--reason", "the disk is being moved")
    let paused = try sluice("show", "in/a.txt").out
    #expect(paused.contains(#/lane +paused by .+ since [0-9T:.-]+Z: the disk is being moved\n/#), "\(paused)")
    #expect(paused.contains("`sluice resume attachments --home home` lets lane attachments go on"))
    #expect(try json("in/a.txt")["queue"]["paused"]["reason"].text == "the disk is being moved")
    try sluice("resume", "attachments")
    let id = try #require(try sluice("list", "--format", "json").attachments.first).id
    try sluice("cancel", id)
    let cancelled = try sluice("show", id).out
    #expect(
      cancelled.contains("cancelled  ") && cancelled.contains("`sluice retry \(id) --home home`"),
      "\(cancelled)")
    #expect(try json(id)["queue"]["cancellation"].text != nil)
  }

  @Test func whatWaitsForLaterSaysUntilWhen() throws {
    try #require(try sluice("enqueue", "in/a.txt").status == 0)
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
    try Inbox.execute(
      "UPDATE jobs SET state = 'scheduled', due_at = \(later), attempts = 2",
      on: folder.path + "/home/sluice.db")
    let shown = try sluice("show", "in/a.txt").out
    #expect(
      shown.contains(
        #/queue +waits until [0-9T:.-]+Z \((59m [0-9]+s|1h 0m)\), after 2 attempts; priority 0\n/#),
      "\(shown)")
    #expect(shown.contains("makes it due at once"))
    #expect(try json("in/a.txt")["queue"]["state"].text == "scheduled")
    let status = try sluice("status").out
    #expect(status.contains(#/1 scheduled \(the next in (59m [0-9]+s|1h 0m)\)/#), "\(status)")
  }

  @Test func oneThatEndedNamesTheCommandThatTriesItAgain() throws {
    let records = try ingested()
    let empty = try #require(records.first { $0.fileName == "empty" })
    #expect(
      try sluice("show", empty.id).out.hasSuffix(
        "\nNext\n  `sluice retry \(empty.id) --home home` queues it again\n"))
    let good = try #require(records.first { $0.isCompleted })
    #expect(try !sluice("show", good.id).out.contains("\nNext\n"))
    #expect(try json(good.id)["next"].elements.isEmpty)
    // Pasted as it is.
    let next = try #require(try json(empty.id)["next"].elements.first?.text)
    let command = try #require(next.split(separator: "`").first)
    let pasted = try SluiceCommand.run(
      ["-c", String(command)], in: folder, environment: ["PATH": SluiceCommand.folder], program: "/bin/bash")
    #expect(pasted.status == 0 && pasted.out.contains("1 attachment queued again"), "\(pasted.err)")
  }

  @Test func aDeadDeliveryNamesItsWayOut() throws {
    let good = try #require(try ingested().first { $0.isCompleted })
    try Inbox.execute(
      "UPDATE deliveries SET status = 'dead', reason_code = 'gone', reason_message = 'it is gone'",
      on: folder.path + "/home/sluice.db")
    let shown = try sluice("show", good.id).out
    #expect(shown.contains(": gone: it is gone\n"), "\(shown)")
    #expect(
      shown.contains("`sluice dead-letters retry \(good.id) --home home` tries its dead deliveries again"))
    #expect(try json(good.id)["deliveries"].elements.first?["code"].text == "gone")
    #expect(try sluice("dead-letters", "retry", good.id).status == 0)
    try sluice("pause", "channel:events", "--reason", "moving")
    let paused = try sluice("show", good.id).out
    #expect(
      paused.contains("lane channel:events is paused by ") && paused.contains(": moving; "), "\(paused)")
    #expect(paused.contains("`sluice resume channel:events --home home`"))
  }

  @Test func ofADeletedOneTheTombstoneIsShown() throws {
    let record = try #require(try ingested().first)
    try #require(try sluice("delete", record.id).status == 0)
    let shown = try sluice("show", String(record.id.prefix(35)))
    #expect(
      shown.status == 0 && shown.out.contains("status        deleted\n") && shown.out.contains(record.id))
    let tombstone = try json(record.id)
    #expect(tombstone["record"].text == "deletion" && tombstone["id"].text == record.id)
    #expect(
      tombstone["deletedBy"].text?.isEmpty == false && tombstone["deletedAt"].text?.hasSuffix("Z") == true)
  }

  @Test func statusSaysWhoPausedWhatAndHowToGoOn() throws {
    try #require(try sluice("enqueue", "in/a.txt").status == 0)
    #expect(try sluice("status").out.contains("\n             `sluice run --home home` works it\n"))
    try sluice("pause", "attachments", "--reason", "the disk is being moved")
    let status = try sluice("status").out
    #expect(
      status.contains(
        #/    paused: the disk is being moved\n    by .+ since [0-9T:.-]+Z; `sluice resume attachments --home home` lets/#
      ),
      "\(status)")
    // Where no home was named, none is in the hint.
    let unnamed = try SluiceCommand.run(["status"], in: folder, environment: ["SLUICE_HOME": "home"]).out
    #expect(unnamed.contains("`sluice resume attachments` lets"), "\(unnamed)")
    try Inbox.execute(
      "UPDATE pauses SET cause = 'fault', code = 'disk-full', reason = 'no room'",
      on: folder.path + "/home/sluice.db")
    let fault = try sluice("status").out
    #expect(fault.contains("goes on by itself, or with the next start, once that is put right"), "\(fault)")
    #expect(
      try JSON(sluice("status", "--format", "json").out)["lanes"].elements.first?["pausedCode"].text
        == "disk-full")
  }
}
