import Foundation
import Testing

/// `--message` and `--code` of the commands that take a selection of attachments.
@Suite(.serialized)
struct SelectionTests {
  private let folder: TemporaryFolder

  /// Five files of three messages, of which one is in two conversations; two are rejected, each with a code of its own.
  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(of: "max: 100MB, min: 0B", with: "max: 20B, min: 3B"))
    let files = [
      ("a", "c1", "m1", "text of a"), ("b", "c1", "m1", "a text that is longer than that"),
      ("c", "c1", "m2", "x"), ("d", "c2", "m1", "text of d"), ("e", "c2", "m3", "text of e"),
    ]
    var lines = ""
    for (name, conversation, message, text) in files {
      try folder.write("in/\(name).txt", text)
      lines +=
        #"{"path":"in/\#(name).txt","conversationId":"\#(conversation)","messageId":"\#(message)","senderId":"ann"}"#
        + "\n"
    }
    try folder.write("list.jsonl", lines)
    let ingested = try sluice("ingest", "--config", "pipeline.yaml", "--manifest", "list.jsonl")
    try #require(ingested.status == 1, "\(ingested.err)")
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func names(_ options: String...) throws -> [String] {
    let outcome = try SluiceCommand.run(["list", "--home", "home", "--format", "json"] + options, in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    return outcome.attachments.map { String($0.fileName.dropLast(4)) }
  }

  @Test func theAttachmentsOfAMessageAreFound() throws {
    #expect(try names("--message", "m1") == ["a", "b", "d"])
    #expect(try names("--message", "m1", "--newest") == ["d", "b", "a"])
    #expect(try names("--message", "m1", "--conversation", "c1") == ["a", "b"])
    #expect(try names("--message", "m1", "--status", "rejected") == ["b"])
    #expect(try names("--message", "m2") == ["c"])
    #expect(try names("--message", "m2", "--conversation", "c2").isEmpty)
    #expect(try names("--message", "m").isEmpty)
    let none = try sluice("list", "--message", "m4")
    #expect(none.status == 0 && none.err == "sluice: no attachment answers to that\n", "\(none.err)")
  }

  @Test func eachCommandWithASelectionTakesAMessage() throws {
    #expect(try sluice("report", "--message", "m1", "--format", "json").out.contains(#""count":3,"#))
    #expect(try sluice("list", "--message", "m3", "--format", "csv").out.contains(",m3,"))
    let replay = try sluice("replay", "--config", "pipeline.yaml", "--message", "m2", "--format", "json")
    #expect(replay.out.contains("c.txt") && !replay.out.contains("a.txt"), "\(replay.out)\(replay.err)")
    #expect(try sluice("retry", "--message", "m1").out == "1 attachment queued again\n")
    let raised = try sluice("prioritize", "--message", "m1", "--priority", "3")
    #expect(raised.out.hasPrefix("1 attachment "), "\(raised.out)\(raised.err)")
    #expect(try sluice("now", "--message", "m1").status == 0)
    #expect(try sluice("cancel", "--message", "m1", "--dry-run").out.hasPrefix("1 attachment "))
    #expect(
      try sluice("delete", "--message", "m1", "--conversation", "c2").out == "1 attachment deleted\n")
    #expect(try names("--message", "m1") == ["a", "b"])
  }

  @Test func severalCodesAreGivenWithCommasOrOneByOne() throws {
    #expect(try names("--code", "too-large") == ["b"])
    #expect(try names("--code", "too-large,too-small") == ["b", "c"])
    #expect(try names("--code", "too-small", "--code=too-large,gone") == ["b", "c"])
    #expect(try names("--code", "gone,encrypted").isEmpty)
    #expect(try names("--code", "too-large,too-small", "--conversation", "c1", "--message", "m2") == ["c"])
    #expect(
      try sluice("report", "--code", "too-small,too-large", "--format", "json").out.contains(#""count":2,"#))
    #expect(try sluice("retry", "--code", "gone").out == "0 attachments queued again\n")
    #expect(
      try sluice("delete", "--code", "too-small,too-large,gone", "--dry-run").out
        == "2 attachments would be deleted, at most\n")
    for command in [["deliveries"], ["dead-letters", "list"], ["dead-letters", "drop"]] {
      let outcome = try SluiceCommand.run(command + ["--home", "home", "--code", "gone,timeout"], in: folder)
      #expect(outcome.status == 0, "\(command): \(outcome.err)")
    }
  }

  private static let commands: [[String]] = [
    ["list"], ["report"], ["retry"], ["cancel"], ["delete"], ["now"], ["prioritize", "--priority", "1"],
    ["replay"], ["deliveries"], ["dead-letters", "list"], ["dead-letters", "retry"],
    ["dead-letters", "drop"],
  ]

  @Test func whatNoCodeCanBeIsRefusedAndNamed() throws {
    let empty = "a variable of the shell may be, and without the option all are meant\n"
    for (list, says) in [
      ("", "--code is empty; \(empty)"),
      ("a,", "--code has an empty element in 'a,'; give codes with one comma between them\n"),
      ("a,,b", "--code has an empty element in 'a,,b'; give codes with one comma between them\n"),
      ("a, b", "--code has ' b', which no code is: codes are printable ASCII without spaces\n"),
      ("größe", "--code has 'größe', which no code is: codes are printable ASCII without spaces\n"),
    ] {
      for command in Self.commands {
        let outcome = try SluiceCommand.run(command + ["--home", "home", "--code", list], in: folder)
        #expect(outcome.status == 2 && outcome.err == "sluice: \(says)", "\(command): \(outcome.err)")
      }
    }
    let noMessage = try sluice("delete", "--message", "")
    #expect(noMessage.status == 2 && noMessage.err == "sluice: --message is empty; \(empty)")
    #expect(try names().count == 5)
  }
}
