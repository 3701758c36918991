import Foundation
import Testing

/// Conversations and messages by the command line, beside a server and without one.
struct MessageCommandTests {
  private func sluice(_ folder: TemporaryFolder, _ words: [String], input: String = "") throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, input: input)
  }

  private func expectTheWay(in folder: TemporaryFolder) throws {
    func output(_ words: String..., input: String = "") throws -> String {
      let outcome = try sluice(folder, words, input: input)
      try #require(outcome.status == 0, "\(words): \(outcome.err)")
      return outcome.out.trimmingCharacters(in: .newlines)
    }
    #expect(try output("conversations", "begin", "ann", "ben", "--id", "team", "--name", "Team") == "team")
    let pair = try output("conversations", "begin", "ann", "ben", "--direct")
    #expect(try output("conversations", "begin", "ben", "ann", "--direct") == pair)
    #expect(try output("send", "team", "the first word", "--sender", "ann") == "1")
    let long = String(repeating: "long ", count: 10_000)
    #expect(try output("send", "team", "--sender", "ben", "--id", "b1", input: long + "\n") == "2")
    #expect(try output("send", "team", "other", "--sender", "ben", "--id", "b1") == "2", "written once")
    #expect(try output("send", pair, "a word for two", "--sender", "ben") == "1")
    #expect(try output("send", pair, "an answer", "--sender", "ann", "--reply-to", "1") == "2")
    let lines = try output("messages", "team").split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("1  ") && lines[0].hasSuffix("  ann:  the first word"))
    let page = try output("messages", "team", "--as", "ann", "--limit", "1", "--format", "json")
    #expect(try JSON(page)["text"].text == String(long))
    let found = try output("search", "word", "--as", "ann").split(separator: "\n")
    #expect(found.count == 2 && found[0].contains("a word for two") && found[1].contains("the first word"))
    let hit = try JSON(output("search", "from:ann", "in:team", "--format", "json"))
    #expect(hit["message"]["conversationId"].text == "team" && hit["message"]["number"] == .number(1))
    #expect(try output("conversations", "list", "--as", "ann").split(separator: "\n").count == 2)
    #expect(try output("conversations", "list", "--as", "eve") == "")
    for (words, part) in [
      (["send", "none", "x", "--sender", "ann"], "there is no such conversation or message"),
      (["send", "team", "x", "--sender", "eve"], "is no member of the conversation: 'eve'"),
      (["send", "team", "x"], "say who writes it, by --sender USER"),
      (["messages", "team", "--as", "eve"], "there is no conversation 'team' of 'eve'"),
      (["search", "before:soon"], "has a time after 'before:'"),
      (["conversations", "begin", "ann", "--direct"], "'members' of a direct conversation are two people"),
    ] {
      let outcome = try sluice(folder, words)
      #expect(outcome.status == 2 && outcome.err.contains(part), "\(words): \(outcome.err)")
    }
  }

  @Test func theyWorkWithoutAServer() throws {
    let folder = try TemporaryFolder()
    try expectTheWay(in: folder)
    #expect(try sluice(folder, ["verify"]).status == 0)
  }

  @Test func besideAServerItsClientsAreTold() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { messages: true }\n")
    let served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let stream = try served.listen(try served.token("ann"))
    #expect(stream.next()?.kind == "start")
    try expectTheWay(in: folder)
    var texts: [String] = []
    while texts.count < 4, let event = stream.next() {
      if event.kind == "message", let text = try JSON(event.data)["text"].text { texts.append(text) }
    }
    #expect(texts.first == "the first word" && texts.last == "an answer")
    #expect(served.stop() == 0)
  }
}
