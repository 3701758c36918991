import Foundation
import Testing

/// `sluice list` and `sluice show` find what was asked for, and the commands that others print for them can
/// be pasted.
struct ListTests {
  /// Texts that are too small, one that is not, and one that cannot be opened any more.
  private func ingested(_ rejected: Int, home: [String] = [], quiet: Bool = false) throws -> (
    folder: TemporaryFolder, outcome: SluiceCommand.Outcome
  ) {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 3B"))
    try folder.write("in/good.txt", "long enough\n")
    for number in 0..<rejected { try folder.write("in/small-\(number)", "\(number % 10)") }
    let outcome = try SluiceCommand.run(
      ["ingest"] + home + (quiet ? ["--quiet"] : []) + ["in"], in: folder)
    #expect(outcome.status == (rejected > 0 ? 1 : 0), "\(outcome.err)")
    return (folder, outcome)
  }

  private func statuses(_ words: [String], in folder: TemporaryFolder) throws -> [String: Int] {
    let outcome = try SluiceCommand.run(["list", "--format", "json"] + words, in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    return Dictionary(grouping: outcome.attachments, by: \.status).mapValues(\.count)
  }

  // MARK: Several statuses

  @Test func severalStatusesAreListedWithCommasOrOneByOne() throws {
    let (folder, _) = try ingested(2)
    try folder.write("in/later.txt", "waits for the next ingest\n")
    #expect(try SluiceCommand.run(["enqueue", "in/later.txt"], in: folder).status == 0)
    #expect(try statuses(["--status", "rejected,completed"], in: folder) == ["rejected": 2, "completed": 1])
    #expect(
      try statuses(["-s", "rejected", "--status=queued,failed"], in: folder) == ["rejected": 2, "queued": 1])
    #expect(try statuses(["--status", "failed,quarantined"], in: folder) == [:])
    #expect(try statuses([], in: folder) == ["rejected": 2, "completed": 1, "queued": 1])
  }

  @Test func theNewestAreFirstWhereThatIsAskedFor() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    for name in ["a", "b", "c", "d"] {
      try folder.write("\(name).txt", "the text \(name)\n")
      let queued = try SluiceCommand.run(["enqueue", "--home", "var", "\(name).txt"], in: folder)
      #expect(queued.status == 0, "\(queued.err)")
    }
    func list(_ words: String...) throws -> [String] {
      try SluiceCommand.run(["list", "--format", "json"] + words, in: folder).attachments.map(\.fileName)
    }
    #expect(try list("--newest") == ["d.txt", "c.txt", "b.txt", "a.txt"])
    #expect(try list("--newest", "--limit", "2", "--status", "queued") == ["d.txt", "c.txt"])
    #expect(try list("--limit", "2") == ["a.txt", "b.txt"])
    #expect(try SluiceCommand.run(["ingest", "--quiet", "a.txt"], in: folder).status == 0)
    #expect(try list("--newest", "--status", "completed", "--limit", "3") == ["d.txt", "c.txt", "b.txt"])
    let table = try SluiceCommand.run(["list", "--newest", "--format", "csv"], in: folder).out
    #expect(table.split(whereSeparator: \.isNewline).dropFirst().first?.contains("d.txt") == true, "\(table)")
    #expect(try SluiceCommand.run(["retry", "--newest", "--status", "failed"], in: folder).status == 2)
  }

  static let mistakes: [(String, String)] = [
    ("rejcted", "'rejcted'; did you mean 'rejected'?"), ("rejected,faild", "'faild'; did you mean 'failed'?"),
    ("rejected,", "not ''"), ("rejected, failed", "' failed'; did you mean 'failed'?"),
    ("lost", "not 'lost'"),
  ]

  @Test(arguments: mistakes)
  func aStatusThereIsNotIsTold(words: String, says: String) throws {
    let outcome = try SluiceCommand.run(["list", "--status", words], in: TemporaryFolder())
    #expect(outcome.status == 2)
    #expect(outcome.err.contains(says), "\(outcome.err)")
    #expect(
      outcome.err.contains("one or more of queued,completed,rejected,failed,quarantined"), "\(outcome.err)")
  }

  // MARK: What is printed can be pasted

  static let homes: [([String], String)] = [
    ([], ""), (["--home", "home"], " --home home"),
    (["--home", "it's a home"], #" --home 'it'\''s a home'"#),
    (["--home=-home"], " --home=-home"), (["--home", "two\nlines"], #" --home $'two\x0alines'"#),
  ]

  @Test(arguments: homes)
  func theCommandInTheSummaryListsTheRest(home: [String], option: String) throws {
    let (folder, outcome) = try ingested(22, home: home)
    #expect(
      outcome.out.contains(
        "  rejected     size: too-small: 22 attachments: sluice list --code too-small\(option)\n"),
      "\(outcome.out)")
    let again = try SluiceCommand.run(["ingest"] + home + ["in"], in: folder)
    let command = "sluice list --status rejected,failed,quarantined,cancelled" + option
    #expect(
      again.out.contains(
        "; 22 of them are not completed or hold contents that are not, which `sluice retry` tries again: \(command)\n"
      ),
      "\(again.out)")
    let pasted = try SluiceCommand.run(
      ["-c", command], in: folder, environment: ["PATH": SluiceCommand.folder], program: "/bin/bash")
    #expect(pasted.status == 0, "\(pasted.err)")
    #expect(pasted.out.split(separator: "\n").count == 22)
  }

  @Test func aQuietIngestTellsWhatWasNotCompletedAndNothingElse() throws {
    let (folder, outcome) = try ingested(1, quiet: true)
    let lines = outcome.out.replacingOccurrences(of: folder.path, with: "").split(separator: "\n")
    #expect(lines.count == 4 && lines.first == "Not completed:", "\(outcome.out)")
    #expect(
      lines[1].hasPrefix("  rejected     size: too-small: 1 attachment")
        && lines[2].contains("/in/small-0: 1 byte, and at least 3 are asked for"), "\(outcome.out)")
    #expect(lines.last?.hasPrefix("2 attachments: 1 completed, 1 rejected, ") == true, "\(outcome.out)")
    #expect(outcome.err == "")
  }

  // MARK: Ids

  @Test func anIdIsToldBackAsItWasTyped() throws {
    let (folder, _) = try ingested(0)
    let unknown = try SluiceCommand.run(["show", "FFfF-Nothing"], in: folder)
    #expect(unknown.status == 2)
    #expect(
      unknown.err.contains("no attachment has the id, the object or the source 'FFfF-Nothing'"),
      "\(unknown.err)")
    let replayed = try SluiceCommand.run(["replay", "FFfF"], in: folder)
    #expect(replayed.err.contains("no attachment's id begins with 'FFfF'"), "\(replayed.err)")
    let listed = try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments
    let id = try #require(listed.first).id
    #expect(try SluiceCommand.run(["show", id.uppercased()], in: folder).out.contains(id))
  }

  /// A variable of the shell that is empty is no wish for all.
  @Test(arguments: ["code", "stage", "type", "conversation", "name"], ["list", "delete", "retry"])
  func anEmptyFilterIsRefused(option: String, verb: String) throws {
    let outcome = try SluiceCommand.run([verb, "--\(option)", ""], in: try TemporaryFolder())
    #expect(outcome.status == 2 && outcome.err.contains("--\(option) is empty"), "\(outcome.err)")
  }

  @Test func aSetIsNegatedAsInAShell() throws {
    let folder = try TemporaryFolder()
    for name in ["apple", "bean", "!bang", "cat"] { try folder.write("in/\(name)", "x\n") }
    try folder.write("pipeline.yaml", Pipelines.storing())
    _ = try SluiceCommand.run(["ingest", "in"], in: folder)
    func named(_ pattern: String) throws -> Set<String> {
      let list = try SluiceCommand.run(["list", "--name", pattern, "--format", "json"], in: folder)
      return Set(try list.every(Printed.Attachment.self).map(\.fileName))
    }
    #expect(try named("[!a]*") == ["bean", "!bang", "cat"])
    #expect(try named("[^a]*") == ["bean", "!bang", "cat"])
    #expect(try named("[a!]*") == ["apple", "!bang"])
  }

  @Test func thoseOfASenderOfAReferenceAndOfASizeAreFound() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    var manifest = ""
    for (number, sender) in ["ann", "ben", "ann"].enumerated() {
      try folder.write("in/\(number)", String(repeating: "x", count: 1000 * number + 24))
      manifest +=
        #"{"path":"in/\#(number)","senderId":"\#(sender)","messageId":"m\#(number)","reference":"order \#(number)"}"#
        + "\n"
    }
    try folder.write("list.jsonl", manifest)
    #expect(try SluiceCommand.run(["ingest", "--manifest", "list.jsonl"], in: folder).status == 0)
    func named(_ words: String...) throws -> [String] {
      let list = try SluiceCommand.run(["list", "--format", "json"] + words, in: folder)
      #expect(list.status == 0, "\(list.err)")
      return list.attachments.map(\.fileName)
    }
    #expect(try named("--sender", "ann") == ["0", "2"])
    #expect(try named("--sender", "ann", "--reference", "order 2") == ["2"])
    #expect(try named("--reference", "order") == [])
    #expect(try named("--min-size", "1KB") == ["1", "2"])
    #expect(try named("--min-size", "1KB", "--max-size", "1024B") == ["1"])
    let wrong = try SluiceCommand.run(["list", "--max-size", "10"], in: folder)
    #expect(wrong.status == 2 && wrong.err.contains("--max-size is a size such as 500KB or 10MB, not '10'"))
  }

  /// Else one may wait for what nothing works on.
  @Test func whereNothingWorksTheQueueItIsSaidToThoseWhoQueue() throws {
    let (folder, _) = try ingested(2)
    func retry(_ words: String...) throws -> String {
      let outcome = try SluiceCommand.run(["retry"] + words, in: folder)
      #expect(outcome.status == 0, "\(outcome.err)")
      return outcome.err
    }
    #expect(try retry("--code", "too-small", "--dry-run") == "")
    #expect(try retry("--code", "too-small", "--limit", "1") == Printed.idle(""))
    #expect(try retry("--code", "too-small", "--quiet") == "")
    #expect(try retry("--code", "too-small", "--home", "var") == "", "nothing is left to queue")
    let ids = try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments.map(\.id)
    #expect(try SluiceCommand.run(["cancel", ids[1]], in: folder).status == 0)
    _ = try SluiceCommand.run(["ingest", "--manifest", "/dev/null"], in: folder)
    #expect(try retry("--code", "cancelled", "--home", "var") == Printed.idle(" --home var"))
    let resident = try Resident(folder, home: "var")
    #expect(try retry("--status", "rejected") == "", "a coordinator works it")
    #expect(resident.stop() == 0)
  }
}
