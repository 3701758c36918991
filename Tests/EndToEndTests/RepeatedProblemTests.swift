import Foundation
import Testing

/// The same mistake made two thousand times is shown a few times, followed by the number and the places of all.
struct RepeatedProblemTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("good.yaml", Pipelines.open)
  }

  @Test func aPipelinesRepeatedMistakeIsToldTwentyTimesAndOthersToo() throws {
    let stages = (0..<2000).map { "  - { use: nosuch, id: s\($0) }\n" }.joined()
    try folder.write("pipeline.yaml", "version: 1\nstages:\n\(stages)  - use: mimee\n")
    let outcome = try SluiceCommand.run(["lint"], in: folder)
    #expect(outcome.status == 78)
    let lines = outcome.err.split(separator: "\n")
    #expect(lines.count == 22, "\(lines.count) lines")
    #expect(
      lines.first
        == "pipeline.yaml:3:12: unknown stage 'nosuch'; 'sluice stages list' shows the stages there are")
    #expect(lines.dropLast().last == "pipeline.yaml:2003:10: unknown stage 'mimee'; did you mean 'mime'?")
    #expect(
      lines.last
        == "and 1,980 more like it: unknown stage 'nosuch'; 'sluice stages list' shows the stages there are")
    let mistakes = try SluiceCommand.run(["lint", "--format", "json"], in: folder)
      .every(Printed.Diagnostic.self)
    #expect(mistakes.count == 2001, "programs get all of it")
  }

  @Test(arguments: [["ingest", "-c", "good.yaml"], ["enqueue", "--quiet"]])
  func aManifestsRepeatedMistakeIsToldWithItsLinesAndTheRestIsTaken(command: [String]) throws {
    try folder.write("a.txt", "a text\n")
    let wrong = String(repeating: "{\"path\": \"a.txt\", \"pat\": 1}\n", count: 2000)
    let other = String(repeating: "{\"path\": \"a.txt\", \"txt\": 1}\n{\"path\": \"a.txt\"}\n", count: 7)
    try folder.write("list.jsonl", wrong + other + "{\"path\": \"b.txt\"}\n")
    let outcome = try SluiceCommand.run(command + ["--home", "home", "--manifest", "list.jsonl"], in: folder)
    #expect(outcome.status == 1)
    let lines = outcome.err.split(separator: "\n").filter { !$0.contains("made a new home") }
    #expect(
      lines.prefix(5).allSatisfy { $0.hasSuffix(": unknown key 'pat'; did you mean 'path'?") }
        && lines.first == "sluice: list.jsonl:1: unknown key 'pat'; did you mean 'path'?", "\(outcome.err)")
    #expect(lines.contains("sluice: list.jsonl:2015: b.txt: No such file or directory; check the path"))
    #expect(
      lines.suffix(3) == [
        "sluice: 2,000 in all: unknown key 'pat'; did you mean 'path'?: lines 1-2000 of list.jsonl",
        "sluice: 7 in all: unknown key 'txt'; did you mean 'text'?: "
          + "lines 2001, 2003, 2005, 2007, 2009, 2011, 2013 of list.jsonl",
        "sluice: `--format json` prints a record of each problem on standard output",
      ], "\(outcome.err)")
    #expect(lines.count == 14, "five of each, one that is alone, and three lines at the end")
    if command[0] == "ingest" {
      #expect(outcome.out.contains("1 attachment: 1 completed"), "\(outcome.out)")
      #expect(outcome.out.contains("\n2008 not taken in, see above\n"), "\(outcome.out)")
    }
  }

  @Test(arguments: [["ingest", "-c", "good.yaml"], ["enqueue"]])
  func programsGetARecordOfEachProblem(command: [String]) throws {
    try folder.write("a.txt", "a text\n")
    let wrong = (0..<200).map { "{\"path\": \"a.txt\", \"pat\": \($0)}\n{\"path\": \"no-\($0)\"}\n" }.joined()
    // The ledger itself objects to the last line.
    let last =
      "{\"path\":\"a.txt\",\"messageId\":\"m\"}\n{\"path\":\"a.txt\",\"messageId\":\"m\",\"senderId\":\"eve\"}\n"
    try folder.write("list.jsonl", wrong + last)
    let outcome = try SluiceCommand.run(
      command + ["--home", "home", "--format", "json", "--manifest", "list.jsonl"], in: folder)
    let problems = outcome.records(Printed.Problem.self)
    #expect(problems.compactMap(\.line).sorted() == Array(1...400) + [402])
    #expect(problems.allSatisfy { $0.origin == "list.jsonl:\($0.line ?? 0)" })
    let missing = try #require(problems.first { $0.line == 2 })
    #expect(missing.path == "no-0" && missing.message == "No such file or directory; check the path")
    let refused = try #require(problems.first { $0.line == 402 })
    #expect(
      refused.message.hasPrefix("message 'm' of conversation 'default' is from 'operator', not from 'eve'"))
    #expect(
      outcome.err.contains("\nsluice: 200 in all: No such file or directory; check the path: lines 2, 4, 6"))
  }

  @Test func whatAWalkThroughFoldersPassesOverIsToldLikewise() throws {
    try folder.write("in/a.txt", "a text\n")
    for number in 0..<30 {
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/in/link-\(number)", withDestinationPath: "a.txt")
    }
    let outcome = try SluiceCommand.run(
      ["ingest", "-c", "good.yaml", "--home", "home", "--format", "json", "in"], in: folder)
    let problems = outcome.records(Printed.Problem.self)
    #expect(problems.count == 30 && problems.allSatisfy { $0.line == nil && $0.path == nil })
    #expect(Set(problems.map(\.origin)).count == 30 && problems[0].origin.hasSuffix("/in/link-0"))
    #expect(
      outcome.err.contains(
        "\nsluice: 30 in all: a symbolic link; not followed (name it on the command line to take it in)\n"))
    #expect(try outcome.summary.notTakenIn == 30)
  }

  @Test func theCountOfProblemsStaysRight() throws {
    try folder.write("a.txt", "a text\n")
    let paths = (0..<30).map { "missing-\($0)" } + ["a.txt"]
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--format", "json"] + paths, in: folder)
    #expect(outcome.status == 1)
    let enqueued = try outcome.last(Printed.Enqueued.self)
    #expect(enqueued.problems == 30)
    #expect(enqueued.added == 1)
    #expect(outcome.records(Printed.Problem.self).map(\.origin) == paths.dropLast())
    let said = outcome.err.split(separator: "\n").filter {
      !$0.contains("made a new home") && !$0.contains("nothing runs on this home")
    }
    #expect(said.count == 7)
    #expect(said.dropLast().last == "sluice: 30 in all: No such file or directory; check the path")
  }
}
