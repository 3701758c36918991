import Foundation
import Testing

/// `enqueue --wait` returns when what it named has ended; `--format json` tells the id of each file.
@Suite(.serialized)
struct EnqueueWaitTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.telling("- { use: size, options: { max: 1KB } }"))
    for number in 0..<3 { try folder.write("in/\(number).txt", "text number \(number)\n") }
    try folder.write("long.txt", String(repeating: "long\n", count: 500))
  }

  private func enqueue(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["enqueue", "--home", "home"] + words, in: folder)
  }

  @Test func itReturnsWhenAllHaveEnded() throws {
    let resident = try Resident(folder)
    let fine = try enqueue("--wait", "in")
    #expect(fine.status == 0, "\(fine.err)")
    #expect(resident.ended.count == 3, "they have ended")
    let lines = fine.out.split(separator: "\n")
    #expect(lines.first == "3 queued" && lines.last == "3 completed, 0 not completed" && lines.count == 5)
    let mixed = try enqueue("--wait", "--format", "json", "in", "long.txt")
    #expect(mixed.status == 1)
    #expect(mixed.attachments.map(\.status).sorted() == ["completed", "completed", "completed", "rejected"])
    let waited = try mixed.last(Printed.Waited.self)
    #expect(waited.completed == 3 && waited.notCompleted == 1 && waited.open == 0)
    #expect(resident.stop() == 0)
  }

  @Test func withoutACoordinatorItWaitsForOneAndLetsItHaveTheHome() throws {
    let waiting = try SluiceCommand.start(
      ["enqueue", "--home", "home", "--wait", "in"], in: folder, out: folder.path + "/out",
      err: folder.path + "/err")
    try Resident.wait("it waits") { try folder.read("err").contains("no coordinator works on home; waiting") }
    let resident = try Resident(folder)
    waiting.waitUntilExit()
    #expect(waiting.terminationStatus == 0)
    #expect(resident.stop() == 0)
  }

  @Test func itWaitsNoLongerThanItIsTo() throws {
    let began = Date()
    let outcome = try enqueue("--wait", "--timeout", "300ms", "in")
    #expect(outcome.status == 75)
    #expect(-began.timeIntervalSinceNow > 0.3 && -began.timeIntervalSinceNow < 200)
    #expect(outcome.err.contains("3 attachments have not ended in time"))
    #expect(try enqueue("--timeout", "1s", "in").status == 2)
  }

  /// More exchanges than the ledger keeps changes of would need hours: a restored ledger has another history, too.
  @Test func aRestoredLedgerIsAskedAnew() throws {
    #expect(try enqueue("in").status == 0)
    #expect(try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder).status == 0)
    let all = try enqueue("--wait", "--quiet", "in")
    #expect(all.status == 0 && all.out == "", "what has ended before is not waited for")
  }

  /// What a person took away is in order for both, and said by both.
  @Test func whatWasDeletedEndsItAsAnIngestDoes() throws {
    #expect(try enqueue("in").status == 0)
    #expect(try SluiceCommand.run(["delete", "--home", "home", "--name", "1.txt"], in: folder).status == 0)
    let ingest = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    #expect(
      ingest.status == 0 && ingest.out.contains("1 of them deleted since"), "\(ingest.out)\(ingest.err)")
    let known = try enqueue("--wait", "in")
    #expect(
      known.status == 0 && known.out.hasSuffix("2 completed, 0 not completed, 1 deleted\n"), "\(known.out)")
    let waiting = try SluiceCommand.start(
      ["enqueue", "--home", "home", "--wait", "--format", "json", "long.txt"], in: folder,
      out: folder.path + "/out", err: folder.path + "/err")
    try Resident.wait("it waits") { try folder.read("err").contains("no coordinator works on home; waiting") }
    #expect(
      try SluiceCommand.run(["delete", "--home", "home", "--name", "long.txt"], in: folder).status == 0)
    waiting.waitUntilExit()
    #expect(waiting.terminationStatus == 0)
    #expect(try folder.read("out").contains(#""completed":0,"notCompleted":0,"deleted":1,"open":0"#))
  }

  @Test func eachFileHasItsIdAndTheCallersReference() throws {
    try folder.write(
      "list.jsonl",
      """
      {"path":"in/0.txt","reference":"upload-7"}
      {"path":"in/missing.txt","reference":"upload-8"}
      {"path":"in/1.txt"}
      {"path":"in/0.txt","reference":"upload-9"}
      {"path":"in/2.txt","reference":""}

      """)
    let outcome = try enqueue("--manifest", "list.jsonl", "--format", "json")
    #expect(outcome.status == 1)
    let items = outcome.records(Printed.Item.self)
    #expect(items.map(\.reference) == ["upload-7", nil, "upload-9"])
    #expect(items.map(\.state) == ["added", "added", "known"])
    #expect(items.map(\.origin) == ["list.jsonl:1", "list.jsonl:3", "list.jsonl:4"])
    #expect(items[0].id == items[2].id && items[0].id != items[1].id)
    let listed = try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder).attachments
    #expect(listed.map(\.id) == items.prefix(2).map(\.id) && listed[0].source == items[0].source)
    #expect(outcome.err.contains("list.jsonl:5: 'reference' has 0 bytes where 1 to 256 are allowed"))
    #expect(try outcome.last(Printed.Enqueued.self).problems == 2)
    let resident = try Resident(folder)
    let again = try enqueue("--manifest", "list.jsonl", "--format", "json").records(Printed.Item.self)
    #expect(again.map(\.id) == items.map(\.id) && again.allSatisfy { $0.state == "known" })
    #expect(resident.stop() == 0)
  }
}
